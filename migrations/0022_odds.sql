-- What the models thought of the burst that a decision is about: the numbers of `parlor_core::Odds`, thousandths. Null where no model
-- was asked, and in decisions from before this migration.

alter table parlor.decision add column odds jsonb;

create or replace function parlor.decision_json(d parlor.decision) returns json
    language sql stable
return json_build_object('n', d.n, 'input_n', d.input_n, 'at_ms', d.at_ms, 'what', d.what, 'why', d.why, 'persona', d.persona,
    'obligations', d.obligations, 'effect', d.effect, 'cursor', d.cursor, 'lines', d.lines, 'odds', d.odds);

-- Steps in order. Those that are stored already are compared and left; the others have to follow without a gap. p_writes: an
-- array with an object for each step that decided or wrote anything. Inputs before the last two snapshots go.
create or replace function api.step(
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
        insert into parlor.decision (stream, n, input_n, at_ms, what, why, persona, obligations, effect, cursor, lines, odds)
        select p_stream, m.n + row_number() over (order by w.n, d.i), w.n, w.at_ms, d.what, d.why, d.persona,
            array(select json_array_elements_text(d.obligations)), d.effect, d.cursor,
            array(select l::bigint from json_array_elements_text(d.lines) l),
            d.odds
        from (select coalesce(max(n), 0) as n from parlor.decision where stream = p_stream) m
        cross join json_to_recordset(p_writes) w(n bigint, at_ms bigint, decisions json)
        cross join lateral rows from (json_to_recordset(w.decisions)
            as (what text, why text, persona text, obligations json, effect text, cursor bigint, lines json, odds jsonb)) with ordinality
            d(what, why, persona, obligations, effect, cursor, lines, odds, i)
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
