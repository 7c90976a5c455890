-- What the room's machine persists: each input with what came of it, in one transaction; and the way back after a restart.

-- Unprompted posts of a persona in the last hour, without row `p_but`; at a claim only what a gateway has taken up counts.
create function parlor.unprompted_lately(p_stream bigint, p_persona text, p_but bigint, p_states text[]) returns bigint
    language sql stable
return (
    select count(*) from parlor.outbox o
    where o.stream = p_stream and o.persona = p_persona and o.unprompted and o.n <> p_but and o.state = any (p_states)
        -- No row waits longer than a day, so older ones need not be looked at.
        and o.created_ms > parlor.now_ms() - 86400000
        and coalesce(o.claimed_ms, o.created_ms) > parlor.now_ms() - 3600000
);

-- The budget of the policy; none, or one that is no number, is 0.
create function parlor.unprompted_budget(p_value jsonb) returns bigint
    language sql immutable
return case jsonb_typeof(p_value #> '{budget,unprompted_per_hour}')
    when 'number' then floor((p_value #>> '{budget,unprompted_per_hour}')::numeric)::bigint
    else 0
end;

-- A row that is submitted: with the state that policy gives it at birth. A known key is found, not inserted again; an outcome
-- that such a row has already is numbered anew, since whoever submits it again waits for one.
create function parlor.submit(p_stream bigint, p_row json) returns json
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
    insert into parlor.outbox (stream, n, dedupe, persona, kind, unprompted, reply_to, reply_shows, emoji, body, obligations, created_ms,
        expires_ms, state)
    values (p_stream, r.n, p_row ->> 'dedupe', p_row ->> 'persona', p_row ->> 'kind', (p_row ->> 'unprompted')::boolean,
        p_row ->> 'reply_to', (p_row ->> 'reply_shows')::boolean, p_row ->> 'emoji', p_row ->> 'body', (p_row -> 'obligations')::jsonb,
        parlor.now_ms(), (p_row ->> 'expires_ms')::bigint, fate);
    if fate <> 'queued' then
        perform parlor.end_row(p_stream, r.n, fate, why);
    end if;
    return json_build_object('dedupe', p_row ->> 'dedupe', 'n', r.n, 'state', fate, 'found', false);
end $$;

-- Writes of one step: its rows, withdrawals and jobs. What became of its rows.
create function parlor.step_writes(p_stream bigint, p_write json) returns json
    language plpgsql
as $$
declare
    w json;
    born json[] := '{}';
    k text;
    r bigint;
begin
    for w in select value from json_array_elements(p_write -> 'rows') loop
        born := born || parlor.submit(p_stream, w);
    end loop;
    for k in select value from json_array_elements_text(p_write -> 'withdrawals') loop
        select o.n into r from parlor.outbox o where o.stream = p_stream and o.dedupe = k and o.state = 'queued';
        if found then
            perform parlor.end_row(p_stream, r, 'withdrawn', null);
        end if;
    end loop;
    for k in select value from json_array_elements_text(p_write -> 'jobs') loop
        update parlor.job set state = 'done' where stream = p_stream and n = k::bigint and state = 'open';
    end loop;
    return array_to_json(born);
end $$;

-- Steps in order. Those that are stored already are compared and left; the others have to follow without a gap. p_writes: an
-- array with an object for each step that decided or wrote anything. Inputs before the last two snapshots go.
create function api.step(
    p_stream bigint, p_boot uuid, p_n bigint[], p_now_ms bigint[], p_input text[], p_writes json, p_snap_n bigint[],
    p_snap_format integer[], p_snap_state bytea[], p_epoch bigint, p_seq bigint, p_outcome_n bigint, p_policy bigint, p_view json
) returns json
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    h parlor.stream_head := parlor.lock_head(p_stream);
    last bigint := p_n[cardinality(p_n)];
    w json;
    born jsonb := '{}';
    wrong bigint;
begin
    perform parlor.check_boot(p_stream, p_boot);
    select u.n into wrong from unnest(p_n) with ordinality u(n, i) where u.n <> p_n[1] + u.i - 1 limit 1;
    if wrong is not null or p_n[1] > h.input_n + 1 or p_n[1] < 1 then
        raise exception 'step % does not follow step %', coalesce(wrong, p_n[1]), h.input_n using errcode = 'PLC00';
    end if;
    select u.n into wrong from unnest(p_n, p_input) u(n, input)
    join parlor.room_input i on i.stream = p_stream and i.n = u.n where u.n <= h.input_n and i.input::text <> u.input limit 1;
    if wrong is not null then
        raise exception 'step % is stored with another input', wrong using errcode = 'PLC00';
    end if;
    if last > h.input_n then
        insert into parlor.room_input (stream, n, now_ms, input)
        select p_stream, u.n, u.now_ms, u.input::json from unnest(p_n, p_now_ms, p_input) u(n, now_ms, input) where u.n > h.input_n;
        insert into parlor.decision (stream, n, input_n, at_ms, what, why, persona, obligations, effect, cursor, lines)
        select p_stream, m.n + row_number() over (order by w.n, d.i), w.n, w.at_ms, d.what, d.why, d.persona,
            array(select json_array_elements_text(d.obligations)), d.effect, d.cursor,
            array(select l::bigint from json_array_elements_text(d.lines) l)
        from (select coalesce(max(n), 0) as n from parlor.decision where stream = p_stream) m
        cross join json_to_recordset(p_writes) w(n bigint, at_ms bigint, decisions json)
        cross join lateral rows from (json_to_recordset(w.decisions)
            as (what text, why text, persona text, obligations json, effect text, cursor bigint, lines json)) with ordinality
            d(what, why, persona, obligations, effect, cursor, lines, i)
        where w.n > h.input_n;
        for w in select value from json_array_elements(p_writes) where (value ->> 'n')::bigint > h.input_n loop
            born := born || jsonb_build_object(w ->> 'n', parlor.step_writes(p_stream, w));
        end loop;
        update parlor.stream_head
        set input_n = last, read_epoch = p_epoch, read_seq = p_seq, read_outcome_n = p_outcome_n, read_policy = p_policy
        where stream = p_stream;
        insert into parlor.floor (stream, at_ms, view) values (p_stream, p_now_ms[cardinality(p_n)], p_view::jsonb)
        on conflict (stream) do update set at_ms = excluded.at_ms, view = excluded.view;
        if exists (select from unnest(p_snap_n) u(n) where u.n > h.input_n) then
            insert into parlor.room_snapshot (stream, n, format, state)
            select p_stream, u.n, u.format, u.state from unnest(p_snap_n, p_snap_format, p_snap_state) u(n, format, state)
            where u.n > h.input_n;
            delete from parlor.room_snapshot where stream = p_stream
                and n not in (select n from parlor.room_snapshot where stream = p_stream order by n desc limit 2);
            delete from parlor.room_input where stream = p_stream
                and n <= (select min(n) from parlor.room_snapshot where stream = p_stream having count(*) = 2);
            -- A good moment to catch up: about as many items have come as inputs.
            perform parlor.index_words(p_stream, 2000);
        end if;
    end if;
    return (
        select json_agg(json_build_object('n', u.n, 'repeated', u.n <= h.input_n, 'rows', coalesce(born -> u.n::text, '[]')) order by u.n)
        from unnest(p_n) u(n)
    );
end $$;

-- Where the machine stood after its last step.
create function api.resume_point(
    p_stream bigint, p_boot uuid, out input_n bigint, out read_epoch bigint, out read_seq bigint, out read_outcome_n bigint,
    out read_policy bigint
)
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.check_boot(p_stream, p_boot);
    select h.input_n, h.read_epoch, h.read_seq, h.read_outcome_n, h.read_policy
    into input_n, read_epoch, read_seq, read_outcome_n, read_policy
    from parlor.stream_head h where h.stream = p_stream;
end $$;

create function api.snapshots(p_stream bigint, p_boot uuid) returns setof parlor.room_snapshot
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.check_boot(p_stream, p_boot);
    return query select * from parlor.room_snapshot where stream = p_stream order by n desc;
end $$;

create function api.inputs(p_stream bigint, p_boot uuid, p_after bigint) returns setof parlor.room_input
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.check_boot(p_stream, p_boot);
    return query select * from parlor.room_input where stream = p_stream and n > p_after order by n;
end $$;
