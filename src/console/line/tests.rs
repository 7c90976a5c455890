use parlor_core::Author;

use super::*;
use crate::console::visitors::Visitor;

fn said(text: &str) -> Line {
    Line {
        seq: 3,
        at: 1_700_000_000_000,
        author: Author { id: "1".into(), name: "<i>Ada</i>".into(), kind: AuthorKind::Human },
        platform_id: "m3".into(),
        text: text.into(),
        edited: false,
        deleted: false,
        system: false,
        reply_to: None,
        reactions: vec![("\"><b>".into(), vec![("2".into(), "'\"<u>".into())])],
    }
}

fn shown(line: &Line, id: &str) -> String {
    let viewer = Viewer::Person { n: 1, visitor: Visitor { id: id.into(), name: "x".into() } };
    super::line(&Frame { room: "kiln", viewer: &viewer }, line, Some(line), None).into_string()
}

#[test]
fn nothing_that_people_wrote_becomes_markup() {
    let html = shown(&said("<script>alert(1)</script> ``` <img src=x> ``` `<b>` \" onload=x"), "1");
    for tag in ["<script", "<img", "<b>\"", "<i>", "<u>", "\"><b>"] {
        assert!(!html.contains(tag), "{tag} in {html}");
    }
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(html.contains("<code> &lt;img src=x&gt; </code>"));
    assert!(html.contains("data-raw=\"&lt;script&gt;"), "quotes and tags are escaped inside attributes too");
    assert!(html.contains("&quot; onload=x"));
}

#[test]
fn only_the_author_may_edit_and_nothing_is_left_of_a_deleted_line() {
    assert!(shown(&said("hello"), "1").contains("data-edit"));
    let other = shown(&said("hello"), "2");
    assert!(!other.contains("data-edit") && !other.contains("data-raw") && other.contains("data-reply"));
    assert!(other.contains("name=\"unreact\""), "they put that reaction there");
    let mut gone = said("");
    gone.deleted = true;
    let html = shown(&gone, "1");
    assert!(html.contains("This line was deleted.") && !html.contains("<form"));
}

#[test]
fn code_is_set_apart_only_where_it_is_closed() {
    let of = |raw| text(raw).into_string();
    assert_eq!(of("a `b` c"), "<p>a <code>b</code> c</p>");
    assert_eq!(of("it`s"), "<p>it`s</p>");
    assert_eq!(of("see\n```rust\nfn x() {}\n```\nyes"), "<p>see</p><pre><code>fn x() {}</code></pre><p>yes</p>");
    assert_eq!(of("```not closed"), "```not closed");
    assert_eq!(of("```one line```"), "<pre><code>one line</code></pre>");
    assert_eq!(of(""), "");
}

#[test]
fn a_long_quote_is_cut_between_characters() {
    let cut = extract(&said(&"ä".repeat(500)));
    assert_eq!(cut.chars().count(), QUOTE_CHARS + 1);
    assert!(cut.ends_with('…'));
}

#[test]
fn lines_of_one_author_stand_together_for_a_while() {
    let first = said("a");
    let mut next = said("b");
    next.at += 60_000;
    assert!(together(&first, &next));
    next.reply_to = Some("m1".into());
    assert!(!together(&first, &next));
    next.reply_to = None;
    next.at += TOGETHER_MS;
    assert!(!together(&first, &next));
}
