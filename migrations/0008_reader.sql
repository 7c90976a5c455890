-- What the console and the terminal read. Nothing here writes.

create function api.read_items(p_stream bigint, p_after bigint, p_before bigint, p_newest boolean, p_limit bigint) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_custom_plan
as $$
begin
    return parlor.items_json(p_stream, p_after, p_before, p_newest, p_limit);
end $$;

create function api.read_floor(p_stream bigint) returns table (at_ms bigint, view jsonb)
    language sql stable
    set search_path = pg_catalog, pg_temp
begin atomic
    select f.at_ms, f.view from parlor.floor f where f.stream = p_stream;
end;

create function api.read_presence(p_stream bigint) returns json
    language sql stable
    set search_path = pg_catalog, pg_temp
return parlor.typing_json(p_stream);

create function parlor.decision_json(d parlor.decision) returns json
    language sql stable
return json_build_object('n', d.n, 'input_n', d.input_n, 'at_ms', d.at_ms, 'what', d.what, 'why', d.why, 'persona', d.persona,
    'obligations', d.obligations, 'effect', d.effect, 'cursor', d.cursor, 'lines', d.lines);

create function api.read_decisions(p_stream bigint, p_after bigint, p_before bigint, p_newest boolean, p_what text, p_limit bigint)
    returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_custom_plan
as $$
declare
    answer json;
begin
    if p_newest then
        select json_agg(parlor.decision_json(d.*) order by d.n) into answer
        from (
            select * from parlor.decision where stream = p_stream and n > p_after and n < p_before and (p_what is null or what = p_what)
            order by n desc limit p_limit
        ) d;
    else
        select json_agg(parlor.decision_json(d.*) order by d.n) into answer
        from (
            select * from parlor.decision where stream = p_stream and n > p_after and n < p_before and (p_what is null or what = p_what)
            order by n limit p_limit
        ) d;
    end if;
    return coalesce(answer, '[]');
end $$;

-- Decisions about an item: those that name its line, or an obligation that such a decision names; for an own post those of its
-- outbox row. Looked for among the decisions that were taken between the item and 5,000 items later: nothing is owed longer.
create function api.read_decisions_about(p_stream bigint, p_seq bigint, p_limit bigint) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_custom_plan
as $$
declare
    row_key text;
    owed text[];
    first bigint := p_seq;
    answer json;
begin
    select o.dedupe, array(select jsonb_array_elements_text(o.obligations -> 'settles')) into row_key, owed
    from parlor.outbox o where o.stream = p_stream and o.echo_seq = p_seq;
    if row_key is not null then
        -- Of an own post: what led to it came before it.
        first := p_seq - 5000;
    else
        select array_agg(distinct x) into owed from parlor.decision d, unnest(d.obligations) x
        where d.stream = p_stream and d.cursor between p_seq and p_seq + 5000 and p_seq = any (d.lines);
    end if;
    select json_agg(parlor.decision_json(l.*) order by l.n) into answer
    from (
        select * from parlor.decision d
        where d.stream = p_stream and d.cursor between first and p_seq + 5000
            and (p_seq = any (d.lines) or d.obligations && coalesce(owed, '{}') or d.effect = row_key)
        order by d.n limit p_limit
    ) l;
    return coalesce(answer, '[]');
end $$;

create function parlor.row_json(o parlor.outbox) returns json
    language sql stable
return json_build_object('n', o.n, 'dedupe', o.dedupe, 'persona', o.persona, 'kind', o.kind, 'body', o.body, 'emoji', o.emoji,
    'reply_to', o.reply_to, 'settles', o.obligations -> 'settles', 'settles_lines', o.obligations -> 'lines', 'state', o.state,
    'reason', o.reason, 'created_ms', o.created_ms, 'unprompted', o.unprompted, 'platform_id', o.platform_id, 'echo_seq', o.echo_seq);

create function api.read_rows(p_stream bigint, p_after bigint, p_before bigint, p_newest boolean, p_limit bigint) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
declare
    answer json;
begin
    if p_newest then
        select json_agg(parlor.row_json(o.*) order by o.n) into answer
        from (select * from parlor.outbox where stream = p_stream and n > p_after and n < p_before order by n desc limit p_limit) o;
    else
        select json_agg(parlor.row_json(o.*) order by o.n) into answer
        from (select * from parlor.outbox where stream = p_stream and n > p_after and n < p_before order by n limit p_limit) o;
    end if;
    return coalesce(answer, '[]');
end $$;

create function api.read_rows_settling(p_stream bigint, p_obligations text[], p_limit bigint) returns json
    language sql stable
    set search_path = pg_catalog, pg_temp
return (
    select coalesce(json_agg(parlor.row_json(l.o) order by l.n), '[]')
    from (
        select r as o, r.n from parlor.outbox r
        where r.stream = p_stream and r.obligations -> 'settles' ?| p_obligations order by r.n limit p_limit
    ) l
);

create function api.read_row_of_item(p_stream bigint, p_seq bigint) returns json
    language sql stable
    set search_path = pg_catalog, pg_temp
return (select parlor.row_json(o) from parlor.outbox o where o.stream = p_stream and o.echo_seq = p_seq);
