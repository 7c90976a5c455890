-- What the other functions stand on, and what the controller writes: streams, policies, mutes.
--
-- Every function of `api` pins search_path and names everything in full, so that it can run with its owner's rights later; the
-- functions of `parlor` are only called by those and inherit it. A function that selects from partitions plans each time
-- (plan_cache_mode): one plan for all partitions would open every one of them. Inserts find their partition by themselves.
--
-- Our own errors: PLF00 an older boot, PLC00 a contradiction, PLR00 a refusal.

create function parlor.now_ms() returns bigint
    language sql volatile parallel safe
return (extract(epoch from clock_timestamp()) * 1000)::bigint;

create function parlor.refuse_change() returns trigger
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception 'the log is append-only: % on % is refused', tg_op, tg_table_name using errcode = 'PLR00';
end $$;

-- A statement trigger of the parent does not fire for a statement that names a partition, so each partition gets its own.
-- ALWAYS: a session that says it is a replica is refused too.
create function parlor.make_append_only(t regclass) returns void
    language plpgsql
as $$
begin
    execute format(
        'create trigger append_only before update or delete or truncate on %s for each statement execute function parlor.refuse_change()', t);
    execute format('alter table %s enable always trigger append_only', t);
end $$;

select parlor.make_append_only('parlor.item');
select parlor.make_append_only('parlor.audit');

-- Takes the lock of the head row, and with it the right to number things in this stream.
create function parlor.lock_head(p_stream bigint) returns parlor.stream_head
    language plpgsql
as $$
declare
    h parlor.stream_head;
begin
    select * into h from parlor.stream_head where stream = p_stream for update;
    if not found then
        raise exception 'there is no stream %', p_stream using errcode = 'PLR00';
    end if;
    return h;
end $$;

create function parlor.stream_json(s parlor.stream) returns json
    language sql stable
return json_build_object('id', s.id, 'epoch', s.epoch, 'room', s.room, 'label_kind', s.label_kind, 'label_id', s.label_id);

-- The partitions are made beside the parents and attached: reads and writes of the other rooms go on meanwhile.
create function parlor.make_partitions(p_stream bigint) returns void
    language plpgsql
as $$
declare
    parent text;
    part text;
begin
    foreach parent in array array['item', 'item_body', 'item_words'] loop
        part := parent || '_' || p_stream;
        execute format('create table parlor.%I (like parlor.%I including all)', part, parent);
        execute format('alter table parlor.%I add constraint one_stream check (stream = %s)', part, p_stream);
        execute format('alter table parlor.%I attach partition parlor.%I for values in (%s)', parent, part, p_stream);
        execute format('alter table parlor.%I drop constraint one_stream', part);
    end loop;
    perform parlor.make_append_only(format('parlor.%I', 'item_' || p_stream)::regclass);
end $$;

create function api.ensure_stream(p_room text, p_label_kind smallint, p_label_id text) returns json
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    s parlor.stream;
begin
    select * into s from parlor.stream where kind = 'room' and room = p_room;
    if not found then
        -- One at a time; readers go on.
        lock table parlor.stream in share row exclusive mode;
        select * into s from parlor.stream where kind = 'room' and room = p_room;
        if not found then
            insert into parlor.stream (kind, label_kind, label_id, room) values ('room', p_label_kind, p_label_id, p_room)
            returning * into s;
            perform parlor.make_partitions(s.id);
            insert into parlor.stream_head (stream) values (s.id);
        end if;
    end if;
    if s.label_kind <> p_label_kind or s.label_id <> p_label_id then
        raise exception 'the stream of room % has another label, and a label never changes', p_room using errcode = 'PLR00';
    end if;
    return parlor.stream_json(s);
end $$;

create function api.streams() returns json
    language sql stable
    set search_path = pg_catalog, pg_temp
return (select coalesce(json_agg(parlor.stream_json(s) order by s.room), '[]') from parlor.stream s where s.kind = 'room');

-- Whether a room may not say anything now. A room without a policy may not.
create function parlor.hushed(p_stream bigint, p_muted boolean, p_stopped boolean) returns text
    language sql stable
return case
    when p_muted is null or p_muted then 'muted'
    when exists (select from parlor.chat_mute c where c.stream = p_stream and (c.until_ms is null or c.until_ms > parlor.now_ms()))
        then 'muted'
    when p_stopped then 'stopped'
end;

-- Gives a row its end, and the end its number. The head's lock is held by the caller.
create function parlor.end_row(p_stream bigint, p_n bigint, p_state text, p_reason text) returns void
    language plpgsql
as $$
declare
    o bigint;
begin
    update parlor.stream_head set outcome_n = outcome_n + 1 where stream = p_stream returning outcome_n into o;
    update parlor.outbox set state = p_state, reason = coalesce(p_reason, reason), outcome_n = o where stream = p_stream and n = p_n;
end $$;

-- Refuses every row that no gateway has taken up yet.
create function parlor.refuse_waiting(p_stream bigint, p_reason text) returns bigint
    language plpgsql
as $$
declare
    r bigint;
    k bigint := 0;
begin
    perform parlor.lock_head(p_stream);
    for r in select n from parlor.outbox where stream = p_stream and state = 'queued' order by n for update loop
        perform parlor.end_row(p_stream, r, 'refused', p_reason);
        k := k + 1;
    end loop;
    return k;
end $$;

create function api.set_policy(p_stream bigint, p_muted boolean, p_mode text, p_stopped boolean, p_value jsonb) returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    old parlor.policy;
    -- The revision is given here; one inside the value is no change.
    h bytea := sha256(convert_to(format('%s|%s|%s|%s', p_muted, p_mode, p_stopped, p_value - 'revision'), 'UTF8'));
    withheld text;
begin
    select * into old from parlor.policy where stream = p_stream for update;
    if not found then
        perform parlor.lock_head(p_stream);
        insert into parlor.policy values (p_stream, 1, h, p_muted, p_mode, p_stopped, p_value);
        return 1;
    end if;
    if old.hash = h then
        return old.revision;
    end if;
    update parlor.policy
    set revision = revision + 1, hash = h, muted = p_muted, mode = p_mode, stopped = p_stopped, value = p_value
    where stream = p_stream;
    withheld := case when p_muted then 'muted' when p_stopped then 'stopped' when p_mode <> 'Active' then 'shadow' end;
    if withheld is not null then
        perform parlor.refuse_waiting(p_stream, withheld);
    end if;
    return old.revision + 1;
end $$;

-- Locks the policy as every mute does: after its commit nothing is claimed. Never lifts anything.
create function api.chat_mute(p_stream bigint, p_by text, p_reason text, p_until_ms bigint) returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform from parlor.policy where stream = p_stream for update;
    perform parlor.lock_head(p_stream);
    insert into parlor.chat_mute (stream, n, by, reason, at_ms, until_ms)
    select p_stream, coalesce(max(n), 0) + 1, p_by, p_reason, parlor.now_ms(), p_until_ms from parlor.chat_mute where stream = p_stream;
    if p_until_ms <= parlor.now_ms() then
        return 0;
    end if;
    return parlor.refuse_waiting(p_stream, 'muted');
end $$;

create function api.lift_chat_mutes(p_stream bigint) returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    k bigint;
begin
    perform from parlor.policy where stream = p_stream for update;
    update parlor.chat_mute set until_ms = parlor.now_ms()
    where stream = p_stream and (until_ms is null or until_ms > parlor.now_ms());
    get diagnostics k = row_count;
    return k;
end $$;

-- Puts a job, or finds the one with this key.
create function parlor.put_job(p_stream bigint, p_dedupe text, p_due_ms bigint, p_expires_ms bigint, p_persona text, p_body text)
    returns bigint
    language plpgsql
as $$
declare
    r bigint;
begin
    select n into r from parlor.job where stream = p_stream and dedupe = p_dedupe;
    if found then
        return r;
    end if;
    insert into parlor.job (stream, n, kind, dedupe, due_ms, expires_ms, persona, body)
    select p_stream, coalesce(max(n), 0) + 1, 'say', p_dedupe, p_due_ms, p_expires_ms, p_persona, p_body
    from parlor.job where stream = p_stream
    returning n into r;
    return r;
end $$;

create function api.announce(p_stream bigint, p_dedupe text, p_due_ms bigint, p_expires_ms bigint, p_persona text, p_body text)
    returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.lock_head(p_stream);
    return parlor.put_job(p_stream, p_dedupe, p_due_ms, p_expires_ms, p_persona, p_body);
end $$;

-- One number a stream that moves when anything happened that somebody may wait for: the hub's own look.
create function api.heads(p_streams bigint[]) returns table (stream bigint, mark bigint)
    language sql stable
    set search_path = pg_catalog, pg_temp
begin atomic
    select h.stream,
        hashtextextended(concat_ws(':', h.seq, h.outbox_n, h.outcome_n, p.revision, parlor.hushed(h.stream, p.muted, p.stopped), j.due, o.lapsed), 0)
    from parlor.stream_head h
    cross join (select parlor.now_ms() as now) t
    left join parlor.policy p on p.stream = h.stream
    cross join lateral (
        select count(*) as due from parlor.job j
        where j.stream = h.stream and j.state = 'open' and j.due_ms <= t.now and j.lease_until_ms <= t.now
    ) j
    cross join lateral (
        select count(*) as lapsed from parlor.outbox o
        where o.stream = h.stream and o.state = 'claimed' and o.lease_until_ms <= t.now
    ) o
    where h.stream = any (p_streams);
end;
