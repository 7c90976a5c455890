-- The walls: who owns what, who may call what, and what each login sees.
--
-- Four roles that nobody logs in as own everything:
--   parlor_owner    schemas, tables and helper functions; forced row security binds it, so it sees no row
--   parlor_service  the functions that processes call (ear, mouth, controller, broker, console); sees every row
--   parlor_api      the functions that sessions call; sees the rows of the calling session's streams
--   parlor_minter   makes and ends the logins of sessions, and nothing else
-- Five logins belong to processes, and each room has one of its own (`r_<hex>`), made anew for each incarnation. A login has no right
-- on a table, and may call the functions that are meant for it; a session besides reads the partitions of its own stream.
--
-- Row security asks for `session_user`, the login, which no SQL changes; never for a setting. What belongs to a database and not to its
-- schema (CONNECT, the catalogue, passwords) is set by each `parlor migrate` after the migrations (src/ledger/rights.sql).

-- Roles are the whole cluster's: another ledger beside this one has made them already.
do $$
declare
    role text;
begin
    foreach role in array array['parlor_owner', 'parlor_service', 'parlor_api', 'parlor_minter',
        'parlor_ingest', 'parlor_gateway', 'parlor_controller', 'parlor_broker', 'parlor_console'] loop
        begin
            if not exists (select from pg_roles where rolname = role) then
                execute format('create role %I nologin noinherit', role);
            end if;
        exception when duplicate_object or unique_violation then
            null; -- made meanwhile
        end;
    end loop;
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- Sessions

drop function parlor.check_boot(bigint, uuid);
drop table parlor.session;

-- A login of a room's actor. Of a stream the newest incarnation alone is valid; older rows stay until the one after them is made.
create table parlor.session (
    role name primary key check (role ~ '^r_[0-9a-f]{32}$'),
    stream bigint not null references parlor.stream,
    incarnation integer not null,
    -- The streams whose items it may load, its own first; it never grows.
    readable bigint[] not null check (cardinality(readable) between 1 and 256 and readable[1] = stream),
    boot uuid,
    valid boolean not null default true,
    minted_at timestamptz not null default clock_timestamp(),
    begun_at timestamptz,
    unique (stream, incarnation)
);

-- The newest boot of the newest incarnation, or an error: of this stream and by this login alone.
create function parlor.check_boot(p_stream bigint, p_boot uuid) returns void
    language plpgsql stable
as $$
begin
    perform from parlor.session where role = session_user and stream = p_stream and boot = p_boot and valid;
    if not found then
        raise exception 'this login may not act for stream % any more: a newer boot or incarnation has begun', p_stream using errcode = 'PLF00';
    end if;
end $$;

create or replace function api.begin(p_stream bigint, p_boot uuid) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.lock_head(p_stream);
    update parlor.session set boot = p_boot, begun_at = clock_timestamp() where role = session_user and stream = p_stream and valid;
    if not found then
        raise exception 'this login may not act for stream %', p_stream using errcode = 'PLF00';
    end if;
    -- What the boot before was handed and did not take up is free again, and nobody of it types any more.
    update parlor.job set lease_until_ms = 0 where stream = p_stream and state = 'open' and lease_until_ms > 0;
    delete from parlor.presence where stream = p_stream and own;
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- The controller's lease: without a controller that renews it, rooms are silent.

create table parlor.controller_lease (
    one boolean primary key default true check (one),
    holder text not null check (octet_length(holder) between 1 and 256),
    valid_until_ms bigint not null
);

create function api.renew_lease(p_holder text, p_until_ms bigint) returns void
    language sql
    set search_path = pg_catalog, pg_temp
begin atomic
    insert into parlor.controller_lease (holder, valid_until_ms) values (p_holder, p_until_ms)
    on conflict (one) do update set holder = excluded.holder, valid_until_ms = excluded.valid_until_ms;
end;

-- A room whose policy says KeepLast goes on by its last policy.
create function parlor.led(p_stream bigint) returns boolean
    language plpgsql stable
as $$
begin
    return exists (select from parlor.controller_lease l where l.valid_until_ms > parlor.now_ms())
        or exists (select from parlor.policy p where p.stream = p_stream and p.value ->> 'fail_mode' = 'KeepLast');
end $$;

create or replace function parlor.hushed(p_stream bigint, p_muted boolean, p_stopped boolean) returns text
    language plpgsql stable
as $$
begin
    if p_muted is null or p_muted then
        return 'muted';
    end if;
    if exists (select from parlor.chat_mute c where c.stream = p_stream and (c.until_ms is null or c.until_ms > parlor.now_ms())) then
        return 'muted';
    end if;
    if p_stopped then
        return 'stopped';
    end if;
    return case when not parlor.led(p_stream) then 'no_controller' end;
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- Labels of what leaves

-- A label as one word: public, room:<id>, dm:<person>, operator.
create function parlor.label(p_kind smallint, p_id text) returns text
    language sql immutable
return case p_kind when 0 then 'public' when 1 then 'room:' || p_id when 2 then 'dm:' || p_id when 3 then 'operator' end;

-- Whether who may know `b` may know all of `a`.
create function parlor.flows(a text, b text) returns boolean
    language sql immutable
return a = 'public' or a = b or b = 'operator';

alter table parlor.outbox
    add column label text,
    add column dest_label text,
    -- For the audit alone: a new incarnation that repeats a row finds it.
    add column by_role name default session_user;
update parlor.outbox o set label = parlor.label(s.label_kind, s.label_id), dest_label = parlor.label(s.label_kind, s.label_id)
from parlor.stream s where s.id = o.stream;
alter table parlor.outbox
    alter column label set not null,
    alter column dest_label set not null,
    add constraint outbox_flows check (parlor.flows(label, dest_label));

-- The label of a destination is looked up, never given.
create function parlor.label_of_dest(p_stream bigint, p_dest text) returns text
    language plpgsql stable
as $$
begin
    return (
        select parlor.label(s.label_kind, s.label_id) from parlor.stream s where s.id = p_stream and p_dest = 'surface'
    );
end $$;

create or replace function parlor.submit(p_stream bigint, p_row json) returns json
    language plpgsql
as $$
declare
    r parlor.outbox;
    p parlor.policy;
    hush text;
    fate text := 'queued';
    why text;
begin
    select * into r from parlor.outbox where stream = p_stream and dedupe = p_row ->> 'dedupe';
    if found then
        if r.outcome_n is not null then
            perform parlor.end_row(p_stream, r.n, r.state, null);
        end if;
        return json_build_object('dedupe', r.dedupe, 'n', r.n, 'state', r.state, 'found', true);
    end if;
    select * into p from parlor.policy where stream = p_stream;
    hush := parlor.hushed(p_stream, p.muted, p.stopped);
    if hush is not null then
        fate := 'refused';
        why := hush;
    elsif (p_row ->> 'unprompted')::boolean and parlor.unprompted_lately(p_stream, p_row ->> 'persona', 0,
        array['queued', 'claimed', 'sent', 'done', 'parked', 'shadow']) >= parlor.unprompted_budget(p.value) then
        fate := 'refused';
        why := 'no_budget';
    elsif p.mode <> 'Active' or (p_row ->> 'shadow')::boolean then
        fate := 'shadow';
    end if;
    update parlor.stream_head set outbox_n = outbox_n + 1 where stream = p_stream returning outbox_n into r.n;
    -- A session writes with the label of its own stream, whatever it has read.
    insert into parlor.outbox (stream, n, dedupe, persona, label, dest_label, kind, unprompted, reply_to, reply_shows, emoji, body,
        obligations, created_ms, expires_ms, state)
    select p_stream, r.n, p_row ->> 'dedupe', p_row ->> 'persona', parlor.label(s.label_kind, s.label_id),
        parlor.label_of_dest(p_stream, 'surface'), p_row ->> 'kind', (p_row ->> 'unprompted')::boolean, p_row ->> 'reply_to',
        (p_row ->> 'reply_shows')::boolean, p_row ->> 'emoji', p_row ->> 'body', (p_row -> 'obligations')::jsonb, parlor.now_ms(),
        (p_row ->> 'expires_ms')::bigint, fate
    from parlor.stream s where s.id = p_stream;
    if fate <> 'queued' then
        perform parlor.end_row(p_stream, r.n, fate, why);
    end if;
    return json_build_object('dedupe', p_row ->> 'dedupe', 'n', r.n, 'state', fate, 'found', false);
end $$;

create or replace function parlor.take_row(p_stream bigint, p_lease_ms bigint) returns parlor.outbox
    language plpgsql
    set plan_cache_mode = force_generic_plan
as $$
declare
    p parlor.policy;
    r parlor.outbox;
    none parlor.outbox;
    t bigint := parlor.now_ms();
begin
    select * into p from parlor.policy where stream = p_stream for share;
    if parlor.hushed(p_stream, p.muted, p.stopped) is not null or p.mode <> 'Active' then
        return none;
    end if;
    perform parlor.lock_head(p_stream);
    loop
        select * into r from parlor.outbox
        where stream = p_stream and dest = 'surface' and state in ('queued', 'claimed') order by n limit 1 for update;
        -- One at a time: a later row waits while an earlier one is with a gateway.
        if not found or (r.state = 'claimed' and r.lease_until_ms > t) then
            return none;
        end if;
        if r.expires_ms <= t and r.state = 'claimed' then
            -- A gateway had it and is gone: it may have been posted.
            perform parlor.end_row(p_stream, r.n, 'parked', 'lease_lost');
        elsif r.expires_ms <= t then
            perform parlor.end_row(p_stream, r.n, 'expired', null);
        elsif not parlor.flows(r.label, parlor.label_of_dest(p_stream, r.dest)) is true then
            perform parlor.end_row(p_stream, r.n, 'refused', 'label');
        elsif r.unprompted and r.state = 'queued' and parlor.unprompted_lately(p_stream, r.persona, r.n, array['claimed', 'sent', 'done', 'parked'])
            >= parlor.unprompted_budget(p.value) then
            perform parlor.end_row(p_stream, r.n, 'refused', 'no_budget');
        else
            update parlor.outbox
            set state = 'claimed', fence = fence + 1, claimed_ms = coalesce(claimed_ms, t),
                lease_until_ms = t + least(greatest(p_lease_ms, 1), 600000)
            where stream = p_stream and n = r.n
            returning * into r;
            return r;
        end if;
    end loop;
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- Making and ending logins

-- The login made for a session is this, and nothing else is made or ended here.
create function parlor.check_role_name(p_role text) returns void
    language plpgsql immutable
as $$
begin
    if p_role is null or p_role !~ '^r_[0-9a-f]{32}$' then
        raise exception 'a session''s login is named r_ and 32 hexadecimal digits' using errcode = 'PLR00';
    end if;
end $$;

-- Rights on one object are written by one transaction at a time.
create function parlor.lock_rights() returns void
    language sql
begin atomic
    select pg_catalog.pg_advisory_xact_lock(7067746100);
end;

-- What a session may do, granted or revoked: enter, call the functions of `parlor_api`, read its own partitions.
create function parlor.set_session_rights(p_role text, p_stream bigint, p_granted boolean) returns void
    language plpgsql security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    verb text := case when p_granted then 'grant' else 'revoke' end;
    way text := case when p_granted then 'to' else 'from' end;
    functions text := (
        select string_agg(p.oid::regprocedure::text, ', ') from pg_proc p
        where p.pronamespace = 'api'::regnamespace and p.proowner = 'parlor_api'::regrole
    );
begin
    perform parlor.check_role_name(p_role);
    execute format('%s connect on database %I %s %I', verb, current_database(), way, p_role);
    execute format('%s usage on schema api, parlor %s %I', verb, way, p_role);
    execute format('%s execute on function %s %s %I', verb, functions, way, p_role);
    execute format('%s select (stream, seq, at_ms, author, author_kind, trust, kind, event_key, platform_id, reply_to, digest) on parlor.%I %s %I',
        verb, 'item_' || p_stream, way, p_role);
    execute format('%s select (stream, seq, name, body, mentions, attachments) on parlor.%I %s %I', verb, 'item_body_' || p_stream, way, p_role);
end $$;

-- The next incarnation of a stream, and the roles of those before it, which are invalid from here on.
create function parlor.put_session(p_role text, p_stream bigint, p_readable bigint[], out incarnation integer, out former text[])
    language plpgsql security definer
    set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform parlor.lock_head(p_stream);
    if exists (
        select from unnest(p_readable) r(id) left join parlor.stream s on s.id = r.id
        where r.id <> p_stream and (s.id is null or s.label_kind <> 0)
    ) then
        raise exception 'besides its own stream a session may load public ones only' using errcode = 'PLR00';
    end if;
    update parlor.session s set valid = false where s.stream = p_stream and s.valid;
    former := array(select s.role::text from parlor.session s where s.stream = p_stream);
    incarnation := (select coalesce(max(s.incarnation), 0) + 1 from parlor.session s where s.stream = p_stream);
    delete from parlor.session s where s.stream = p_stream and s.incarnation < incarnation - 1;
    insert into parlor.session (role, stream, incarnation, readable) values (p_role, p_stream, incarnation, p_stream || p_readable);
end $$;

create function parlor.end_session(p_role text) returns bigint
    language sql security definer
    set search_path = pg_catalog, pg_temp
begin atomic
    update parlor.session set valid = false where role = p_role::name returning stream;
end;

-- Ends a login: it may not enter any more, its connections are ended, its rights go, then it goes.
create function parlor.drop_login(p_role text, p_stream bigint) returns void
    language plpgsql
as $$
begin
    if exists (select from pg_roles where rolname = p_role) then
        execute format('alter role %I nologin', p_role);
        perform pg_terminate_backend(a.pid, 2000) from pg_stat_activity a where a.usename = p_role;
        perform parlor.set_session_rights(p_role, p_stream, false);
        execute format('drop role %I', p_role);
    end if;
end $$;

-- Makes the login of a room's next incarnation and ends those before it: from this commit on they write nothing. The password comes
-- as a verifier, since the server logs the text of a statement that fails.
create function api.mint(p_stream bigint, p_role text, p_verifier text, p_readable bigint[]) returns integer
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    made record;
    old text;
begin
    perform parlor.check_role_name(p_role);
    if p_verifier is null or p_verifier !~ '^SCRAM-SHA-256\$[0-9]{4,7}:[A-Za-z0-9+/=]{8,64}\$[A-Za-z0-9+/=]{44}:[A-Za-z0-9+/=]{44}$' then
        raise exception 'a password is given as its SCRAM-SHA-256 verifier' using errcode = 'PLR00';
    end if;
    perform parlor.lock_rights();
    select * into made from parlor.put_session(p_role, p_stream, coalesce(p_readable, '{}'));
    execute format('create role %I login noinherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit 4 password %L',
        p_role, p_verifier);
    perform parlor.set_session_rights(p_role, p_stream, true);
    foreach old in array made.former loop
        perform parlor.drop_login(old, p_stream);
    end loop;
    return made.incarnation;
end $$;

-- Ends the login of a room: a stop, a revoke.
create function api.retire(p_role text) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    stream bigint;
begin
    perform parlor.check_role_name(p_role);
    perform parlor.lock_rights();
    stream := parlor.end_session(p_role);
    if stream is not null then
        perform parlor.drop_login(p_role, stream);
    end if;
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- The schema's version, for those who may not look into `public`

create function api.schema_version() returns bigint
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
begin
    return (select coalesce(max(version), 0) from public._sqlx_migrations where success);
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- Owners and rights of all that stands so far

alter schema parlor owner to parlor_owner;
alter schema api owner to parlor_owner;

do $$
declare
    t record;
    d record;
    f record;
    sessions text[] := array['begin', 'read_after', 'history', 'open_lines', 'search', 'persona_typing', 'note', 'notes', 'remind',
        'job_claim', 'step', 'resume_point', 'snapshots', 'inputs'];
    minter text[] := array['mint', 'retire'];
begin
    -- Partitions go with their parents.
    for t in
        select c.oid::regclass as name, c.relkind, c.relispartition, c.relname from pg_class c
        where c.relnamespace = 'parlor'::regnamespace and c.relkind in ('r', 'p')
    loop
        execute format('alter table %s owner to parlor_owner', t.name);
        execute format('revoke all on %s from public', t.name);
        continue when t.relispartition;
        execute format('alter table %s enable row level security', t.name);
        execute format('alter table %s force row level security', t.name);
        execute format('grant select, insert on %s to parlor_service', t.name);
        -- What is append-only nobody may change.
        if t.relname not in ('item', 'audit') then
            execute format('grant update, delete on %s to parlor_service', t.name);
        end if;
        -- A mute and a policy are the controller's; a gateway may add a mute, never lift one.
        if t.relname in ('policy', 'controller_lease') then
            execute format('create policy service on %s to parlor_service using (true) with check (session_user = ''parlor_controller'')', t.name);
        elsif t.relname = 'chat_mute' then
            execute format('create policy service_read on %s for select to parlor_service using (true)', t.name);
            execute format('create policy service_add on %s for insert to parlor_service with check (session_user in (''parlor_controller'', ''parlor_gateway''))', t.name);
            execute format('create policy service_lift on %s for update to parlor_service using (session_user = ''parlor_controller'')', t.name);
        else
            execute format('create policy service on %s to parlor_service using (true) with check (true)', t.name);
        end if;
    end loop;
    for d in
        select y.oid::regtype as name from pg_type y where y.typnamespace = 'parlor'::regnamespace and y.typtype = 'd'
    loop
        execute format('alter domain %s owner to parlor_owner', d.name);
        execute format('revoke all on domain %s from public', d.name);
        execute format('grant usage on domain %s to parlor_service, parlor_api', d.name);
    end loop;
    for f in
        select p.oid::regprocedure as name, p.proname, n.nspname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname in ('api', 'parlor')
    loop
        if f.nspname = 'api' then
            execute format('alter function %s security definer', f.name);
            execute format('alter function %s owner to %I', f.name, case
                when f.proname = any (sessions) then 'parlor_api' when f.proname = any (minter) then 'parlor_minter' else 'parlor_service' end);
        else
            execute format('alter function %s owner to %I', f.name, case
                when f.proname in ('put_session', 'end_session') then 'parlor_service' else 'parlor_owner' end);
        end if;
        execute format('revoke all on function %s from public', f.name);
        if f.nspname = 'api' then
            -- The owner of the schema hands the right to call them on to sessions, one by one.
            if f.proname = any (sessions) then
                execute format('grant execute on function %s to parlor_owner with grant option', f.name);
            end if;
        elsif f.proname in ('lock_rights', 'put_session', 'end_session', 'set_session_rights', 'drop_login', 'check_role_name') then
            execute format('grant execute on function %s to parlor_minter, parlor_owner', f.name);
        else
            execute format('grant execute on function %s to parlor_service', f.name);
            if f.proname not in ('make_partitions', 'make_append_only', 'take_row', 'show_row', 'fenced_row', 'end_claimed', 'ingest_one',
                'echo_row', 'row_of_own', 'refuse_waiting', 'trust_of') then
                execute format('grant execute on function %s to parlor_api', f.name);
            end if;
        end if;
    end loop;
end $$;

-- These two make tables, so they are the tables' owner while they run.
alter function parlor.make_partitions(bigint) security definer set search_path = pg_catalog, pg_temp;
alter function parlor.make_append_only(regclass) set search_path = pg_catalog, pg_temp;

grant usage on schema parlor, api to parlor_service, parlor_api, parlor_minter, parlor_ingest, parlor_gateway, parlor_controller,
    parlor_broker, parlor_console;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- What a session's functions may touch, and which rows

grant select on parlor.stream, parlor.stream_head, parlor.item, parlor.item_body, parlor.item_words, parlor.presence, parlor.floor,
    parlor.session, parlor.policy, parlor.chat_mute, parlor.controller_lease, parlor.outbox, parlor.room_input, parlor.room_snapshot,
    parlor.decision, parlor.note, parlor.job to parlor_api;
grant insert on parlor.presence, parlor.floor, parlor.item_words, parlor.outbox, parlor.room_input, parlor.room_snapshot, parlor.decision,
    parlor.note, parlor.job to parlor_api;
grant update (boot, begun_at) on parlor.session to parlor_api;
grant update (outbox_n, outcome_n, input_n, words_seq, read_epoch, read_seq, read_outcome_n, read_policy) on parlor.stream_head to parlor_api;
grant update (own, typing_until_ms) on parlor.presence to parlor_api;
grant update (at_ms, view) on parlor.floor to parlor_api;
grant update (state, reason, outcome_n) on parlor.outbox to parlor_api;
grant update (state, lease_until_ms) on parlor.job to parlor_api;
grant delete on parlor.presence, parlor.room_input, parlor.room_snapshot to parlor_api;

create policy session on parlor.session to parlor_api using (role = session_user);
create policy session on parlor.controller_lease for select to parlor_api using (true);
create policy session on parlor.stream for select to parlor_api
    using (id = (select s.stream from parlor.session s where s.role = session_user and s.valid));

do $$
declare
    t text;
begin
    foreach t in array array['stream_head', 'item_words', 'presence', 'floor', 'policy', 'chat_mute', 'outbox', 'room_input',
        'room_snapshot', 'decision', 'note', 'job'] loop
        execute format('create policy session on parlor.%I to parlor_api using (stream = (select s.stream from parlor.session s where s.role = session_user and s.valid))', t);
    end loop;
    -- Loading is wider than writing, and fixed when the login is made.
    foreach t in array array['item', 'item_body'] loop
        execute format('create policy session on parlor.%I for select to parlor_api using (stream = any ((select s.readable from parlor.session s where s.role = session_user and s.valid)::bigint[]))', t);
    end loop;
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- What each login may call

grant execute on function api.schema_version() to parlor_ingest, parlor_gateway, parlor_controller, parlor_broker, parlor_console;
grant execute on function
    api.ingest(bigint[], bigint[], text[], text[], text[], text[], text[], text[], text[], text[], text[], text[], bigint[]),
    api.presence(bigint, text, bigint), api.message_state(bigint, text, text, text) to parlor_ingest;
grant execute on function
    api.claim(bigint[], bigint), api.speak(bigint, json, bigint), api.settle(bigint, bigint, bigint, text), api.park(bigint, bigint, bigint, text),
    api.refuse(bigint, bigint, bigint, text), api.chat_mute(bigint, text, text, bigint), api.policy_seen(bigint, bigint) to parlor_gateway;
grant execute on function
    api.ensure_stream(text, smallint, text), api.streams(), api.set_policy(bigint, boolean, text, boolean, jsonb), api.lift_chat_mutes(bigint),
    api.announce(bigint, text, bigint, bigint, text, text), api.renew_lease(text, bigint), api.mint(bigint, text, text, bigint[]),
    api.retire(text) to parlor_controller;
grant execute on function
    api.reserve(bigint, date, bigint, bigint, bigint, bigint), api.charge(bigint, bigint, bigint, bigint),
    api.audit(bigint, text, text, text, bigint, bigint, bigint, text), api.heads(bigint[]), api.streams() to parlor_broker;
grant execute on function
    api.streams(), api.read_items(bigint, bigint, bigint, boolean, bigint), api.read_floor(bigint), api.read_presence(bigint),
    api.read_decisions(bigint, bigint, bigint, boolean, text, bigint), api.read_decisions_about(bigint, bigint, bigint),
    api.read_rows(bigint, bigint, bigint, boolean, bigint), api.read_rows_settling(bigint, text[], bigint),
    api.read_row_of_item(bigint, bigint), api.read_lines(bigint, bigint, bigint), api.read_about(bigint, text[], bigint),
    api.read_names(bigint, bigint), api.read_policy(bigint) to parlor_console;
