//! `parlor dev` as its users have it: the real binary on folders of its own, spoken to from outside.
//!
//! Waits that the floor makes on purpose are left out of every figure: the room's are known and short, and the model answers only
//! when the turn has long been over.

use std::time::Duration;

mod model;
mod process;

use tokio::runtime::{Builder, Runtime};

use self::{
    model::{Call, Model},
    process::Dev,
};
use super::{Args, BenchError, Figure, Target, archives::scratch, median};

/// Questions asked, one after the other.
const QUESTIONS: usize = 40;
/// The room's wait before a draft begins, and then before it is posted: as short as a wait can be told from none.
const DRAFT_QUIET: Duration = Duration::from_millis(50);
const TURN_MS: u64 = 100;
/// The model answers after this, when no wait of the floor is left.
const HOLD: Duration = Duration::from_millis(400);
/// Starts that are measured.
const STARTS: usize = 5;
/// Rooms of the measurement of memory.
const ROOMS: usize = 50;

const LINE_TO_MODEL_MS: f64 = 10.0;
const ANSWER_TO_POST_MS: f64 = 5.0;
const RSS_MIB: f64 = 40.0;
const START_S: f64 = 2.0;

/// Start, the way of a line to the model and back, and memory.
pub(super) fn figures(_: &Args) -> Result<Vec<Figure>, BenchError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut figures = way(&runtime)?;
    figures.extend(starts(&runtime)?);
    figures.extend(memory(&runtime)?);
    Ok(figures)
}

fn room(name: &str) -> (String, String) {
    let text = format!(
        "apiVersion: parlor.dev/v1alpha1\nkind: Room\nmetadata: {{ name: {name} }}\nspec:\n  surface: {{ console: {{}} }}\n  audience: Room\n  \
         members: [{{ persona: wren }}]\n  mode: Active\n  floor: {{ draftQuiet: {}ms, turnDone: {TURN_MS}ms, turnOpen: {TURN_MS}ms, \
         alone: {TURN_MS}ms, cooldown: 10ms }}\n",
        DRAFT_QUIET.as_millis()
    );
    (format!("{name}.yaml"), text)
}

fn wren(model: &str) -> (String, String) {
    let text = format!(
        "apiVersion: parlor.dev/v1alpha1\nkind: Persona\nmetadata: {{ name: wren }}\nspec:\n  displayName: Wren\n  \
         identity: You fire the kilns of a small pottery studio.\n{model}"
    );
    ("wren.yaml".into(), text)
}

/// From a line that is posted to the request that the model gets, and from the model's answer until another process has heard the
/// bell and read the post; beside both, how long the console takes to store a line.
fn way(runtime: &Runtime) -> Result<Vec<Figure>, BenchError> {
    runtime.block_on(async {
        let mut model = Model::start(HOLD).await?;
        let files = [room("kiln"), wren("  models: { draft: { provider: openai, name: bench } }\n")];
        let mut dev = Dev::new(scratch()?, &files, Some(model.url()))?;
        dev.start().await?;
        let mut ear = dev.ear("kiln").await?;
        let (mut to_model, mut to_post, mut stored) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..QUESTIONS {
            let said = dev.say("kiln", &format!("wren, question {n}?")).await?;
            let Call { arrived, answered } = model.next().await?;
            to_model.push((arrived - said.begun).saturating_sub(DRAFT_QUIET).as_secs_f64() * 1_000.0);
            stored.push(said.stored.as_secs_f64() * 1_000.0);
            to_post.push((dev.own_line(&mut ear, said.seq).await? - answered).as_secs_f64() * 1_000.0);
        }
        dev.stop().await?;
        let stored = median(stored);
        Ok(vec![
            Figure::new("service.line_to_model", median(to_model), "ms", ("store_a_line", stored), Some(Target::Below(LINE_TO_MODEL_MS))),
            Figure::new("service.answer_to_post", median(to_post), "ms", ("store_a_line", stored), Some(Target::Below(ANSWER_TO_POST_MS))),
        ])
    })
}

/// From the start of the process to a served page, with a state folder that is there; beside it, with none.
fn starts(runtime: &Runtime) -> Result<Vec<Figure>, BenchError> {
    runtime.block_on(async {
        let mut dev = Dev::new(scratch()?, &[room("kiln"), wren("")], None)?;
        let first = dev.start().await?.as_secs_f64();
        dev.stop().await?;
        let mut later = Vec::new();
        for _ in 0..STARTS {
            later.push(dev.start().await?.as_secs_f64());
            dev.stop().await?;
        }
        let target = Some(Target::Below(START_S));
        Ok(vec![Figure::new("service.start_to_page", median(later), "s", ("first_start", Some(first)), target)])
    })
}

/// Resident memory of the process with many rooms that each answered a line; beside it, with one.
fn memory(runtime: &Runtime) -> Result<Vec<Figure>, BenchError> {
    runtime.block_on(async {
        let one = resident(1).await?;
        let many = resident(ROOMS).await?;
        let target = Some(Target::Below(RSS_MIB));
        Ok(vec![Figure::new(format!("service.memory_{ROOMS}_rooms"), Some(many), "MiB", ("one_room", Some(one)), target)])
    })
}

async fn resident(rooms: usize) -> Result<f64, BenchError> {
    let names: Vec<String> = (0..rooms).map(|n| format!("room-{n}")).collect();
    let files: Vec<_> = names.iter().map(|n| room(n)).chain([wren("")]).collect();
    let mut dev = Dev::new(scratch()?, &files, None)?;
    dev.start().await?;
    for name in &names {
        let said = dev.say(name, "wren, how hot is it?").await?;
        let mut ear = dev.ear(name).await?;
        dev.own_line(&mut ear, said.seq).await?;
    }
    let mib = dev.resident_mib()?;
    dev.stop().await?;
    Ok(mib)
}
