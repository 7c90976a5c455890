-- The tables of the ledger. Only functions of the schema `api` write them. Times are milliseconds since the Unix epoch in
-- UTC (`_ms`). Codes are text with a check, never enum types, so that a comparison stays leakproof and a code can be added.
--
-- Order of locks, for every function: policy, then stream_head (of several streams in ascending order), then the others.
-- Whatever is numbered densely inside a stream (items, rows, outcomes, inputs, decisions, notes, jobs) is numbered under the
-- lock of its stream_head row. That lock also proves the stream, so the tables written by each step or item have no foreign key.

create schema parlor;
create schema api;
revoke all on schema parlor, api from public;

-- For the tables that each item or step writes: a domain's check is prepared once a connection, a table's check once a statement, which
-- for these is most of the cost of an insert.
create domain parlor.id as text check (octet_length(value) between 1 and 256);
create domain parlor.event_key as text check (octet_length(value) between 1 and 512);
create domain parlor.author_kind as text check (value in ('owner', 'human', 'bot', 'webhook', 'own'));
create domain parlor.item_kind as text check (value in ('message', 'edit', 'delete', 'reaction', 'unreaction', 'system'));
-- Who may influence an action: 0 owner, 1 known person, 2 self, 3 other bot or webhook, 4 tool or web text.
create domain parlor.trust as smallint check (value between 0 and 4);
create domain parlor.display_name as text check (octet_length(value) <= 1024);
create domain parlor.body as text check (octet_length(value) <= 65536);

create table parlor.stream (
    id bigint generated always as identity primary key,
    kind text not null check (kind in ('room')),
    -- 0 public, 1 room, 2 dm, 3 operator; label_id is the room or the person.
    label_kind smallint not null check (label_kind between 0 and 3),
    label_id text not null check (octet_length(label_id) <= 256 and (label_id <> '') = (label_kind in (1, 2))),
    room text not null check (octet_length(room) between 1 and 256),
    epoch bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    unique (kind, room)
);

-- One row a stream: the counters, and where the room's machine stands. Often updated, so half of each page stays free.
create table parlor.stream_head (
    stream bigint primary key,
    seq bigint not null default 0,
    outbox_n bigint not null default 0,
    outcome_n bigint not null default 0,
    input_n bigint not null default 0,
    words_seq bigint not null default 0,
    read_epoch bigint not null default 0,
    read_seq bigint not null default 0,
    read_outcome_n bigint not null default 0,
    read_policy bigint not null default 0
) with (fillfactor = 50);

-- In the keys of the partitioned tables the stream stands last: it is the same for all rows of a partition, and as a first column
-- it misleads the planner, while a young partition has no statistics, into reading all of it.
create table parlor.item (
    stream bigint not null,
    seq bigint not null,
    at_ms bigint not null,
    author parlor.id not null,
    author_kind parlor.author_kind not null,
    trust parlor.trust not null,
    kind parlor.item_kind not null,
    event_key parlor.event_key not null,
    platform_id parlor.id not null,
    reply_to parlor.id,
    -- sha256(salt || body as UTF-8); stays valid when salt and body are blanked.
    digest bytea not null,
    primary key (seq, stream),
    unique (event_key, stream)
) partition by list (stream);
create index item_platform_id on parlor.item (platform_id);

-- What an erasure blanks, together and by one function.
create table parlor.item_body (
    stream bigint not null,
    seq bigint not null,
    salt bytea not null,
    name parlor.display_name not null,
    body parlor.body not null,
    mentions jsonb not null,
    attachments jsonb not null,
    primary key (seq, stream)
) partition by list (stream);

-- The words of messages and edits, for a session's search in its own history. Filled behind the writers, up to the head's
-- words_seq: kept by each insert, this index alone would cost four times as much as everything else. Of a long text the first
-- 16,000 characters can be found: a text search vector has an upper bound of 1 MiB.
create table parlor.item_words (
    stream bigint not null,
    seq bigint not null,
    words tsvector not null,
    primary key (seq, stream)
) partition by list (stream);
create index item_words_words on parlor.item_words using gin (words);

create unlogged table parlor.presence (
    stream bigint not null,
    who text not null check (octet_length(who) between 1 and 256),
    own boolean not null,
    typing_until_ms bigint not null,
    primary key (stream, who)
);

-- What people see of the floor; written by each step, lost with a crash, written again by the next step.
create unlogged table parlor.floor (
    stream bigint primary key,
    at_ms bigint not null,
    view jsonb not null
) with (fillfactor = 50);

create table parlor.session (
    stream bigint primary key references parlor.stream,
    incarnation integer not null default 1,
    boot uuid not null,
    begun_at timestamptz not null default clock_timestamp()
);

create table parlor.policy (
    stream bigint primary key references parlor.stream,
    revision bigint not null,
    hash bytea not null,
    muted boolean not null,
    mode text not null check (mode in ('Shadow', 'Active')),
    stopped boolean not null,
    value jsonb not null
);

create table parlor.chat_mute (
    stream bigint not null references parlor.stream,
    n bigint not null,
    by text not null check (octet_length(by) between 1 and 256),
    reason text not null check (octet_length(reason) <= 1024),
    at_ms bigint not null,
    -- null: until it is lifted.
    until_ms bigint,
    primary key (stream, n)
);

create table parlor.policy_seen (
    stream bigint primary key references parlor.stream,
    revision bigint not null,
    at_ms bigint not null
);

create table parlor.outbox (
    stream bigint not null,
    n bigint not null,
    dedupe parlor.id not null,
    persona parlor.id not null,
    dest text not null default 'surface' check (dest in ('surface')),
    kind text not null check (kind in ('post', 'react')),
    unprompted boolean not null,
    reply_to parlor.id,
    reply_shows boolean not null,
    emoji parlor.id,
    body parlor.body check (body <> ''),
    -- {"settles": [ids], "lines": [platform ids], "owed": kind}
    obligations jsonb not null,
    created_ms bigint not null,
    expires_ms bigint not null,
    state text not null
        check (state in ('queued', 'claimed', 'sent', 'done', 'refused', 'withdrawn', 'parked', 'expired', 'shadow')),
    fence bigint not null default 0,
    claimed_ms bigint,
    lease_until_ms bigint,
    platform_id parlor.id,
    echo_seq bigint,
    reason text check (octet_length(reason) <= 256),
    -- Dense number of what became of it; given anew when that changes.
    outcome_n bigint,
    primary key (stream, n),
    unique (stream, dedupe),
    unique (stream, outcome_n),
    check ((kind = 'post') = (body is not null) and (kind = 'react') = (emoji is not null)),
    check (kind <> 'react' or reply_to is not null)
);
create index outbox_open on parlor.outbox (stream, dest, n) where state in ('queued', 'claimed');
create index outbox_platform_id on parlor.outbox (stream, platform_id) where platform_id is not null;
create index outbox_echo on parlor.outbox (stream, echo_seq) where echo_seq is not null;
create index outbox_unprompted on parlor.outbox (stream, persona, created_ms) where unprompted;

-- The input's text is kept byte for byte (json, not jsonb), so that a replay of it is exact.
create table parlor.room_input (
    stream bigint not null,
    n bigint not null,
    now_ms bigint not null,
    input json not null,
    primary key (stream, n)
);

create table parlor.room_snapshot (
    stream bigint not null,
    n bigint not null,
    format integer not null,
    state bytea not null,
    primary key (stream, n)
);

create table parlor.decision (
    stream bigint not null,
    n bigint not null,
    input_n bigint not null,
    at_ms bigint not null,
    what text not null,
    why text not null,
    persona text,
    obligations text[] not null,
    effect text,
    -- What was seen: the last item, and the lines that the decision is about.
    cursor bigint not null,
    lines bigint[] not null,
    primary key (stream, n)
);
create index decision_cursor on parlor.decision (stream, cursor);
create index decision_notice on parlor.decision (stream, n) where what = 'notice';

create table parlor.note (
    stream bigint not null references parlor.stream,
    n bigint not null,
    person_id text check (octet_length(person_id) between 1 and 256),
    topic text check (octet_length(topic) between 1 and 256),
    body text not null check (octet_length(body) between 1 and 4096),
    at_ms bigint not null,
    supersedes bigint,
    primary key (stream, n),
    check ((person_id is null) <> (topic is null)),
    foreign key (stream, supersedes) references parlor.note (stream, n)
);
create index note_person on parlor.note (stream, person_id, n);
create index note_supersedes on parlor.note (stream, supersedes) where supersedes is not null;

create table parlor.job (
    stream bigint not null references parlor.stream,
    n bigint not null,
    kind text not null check (kind in ('say')),
    dedupe text not null check (octet_length(dedupe) between 1 and 256),
    due_ms bigint not null,
    expires_ms bigint not null,
    persona text not null check (octet_length(persona) between 1 and 256),
    body text not null check (octet_length(body) between 1 and 65536),
    state text not null default 'open' check (state in ('open', 'done', 'expired')),
    lease_until_ms bigint not null default 0,
    primary key (stream, n),
    unique (stream, dedupe)
);
create index job_open on parlor.job (stream, due_ms) where state = 'open';

-- What a room spent in a day, reservations not yet charged included in full.
create table parlor.budget (
    stream bigint not null references parlor.stream,
    day date not null,
    tokens bigint not null default 0,
    cost_micro bigint not null default 0,
    primary key (stream, day)
) with (fillfactor = 50);

create table parlor.reservation (
    stream bigint not null references parlor.stream,
    n bigint not null,
    day date not null,
    tokens bigint not null check (tokens >= 0),
    cost_micro bigint not null check (cost_micro >= 0),
    charged boolean not null default false,
    primary key (stream, n)
);

create table parlor.audit (
    stream bigint not null references parlor.stream,
    n bigint not null,
    at_ms bigint not null,
    persona text not null,
    purpose text not null,
    model text not null,
    tokens bigint not null,
    cost_micro bigint not null,
    duration_ms bigint not null,
    outcome text not null,
    primary key (stream, n)
);
