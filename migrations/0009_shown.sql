-- What a page shows of a room beyond pages of items: its lines, everything about some of them, and who has spoken.

-- The newest lines before a seq, as they were first said.
create function api.read_lines(p_stream bigint, p_before bigint, p_limit bigint) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_custom_plan
as $$
declare
    answer json;
begin
    select json_agg(parlor.item_json(l.i, l.b) order by (l.i).seq) into answer
    from (
        select i, b from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
        where i.stream = p_stream and i.seq < p_before and i.kind in ('message', 'system') order by i.seq desc limit p_limit
    ) l;
    return coalesce(answer, '[]');
end $$;

-- Every item that is or changes one of these messages, ascending.
create function api.read_about(p_stream bigint, p_ids text[], p_limit bigint) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_custom_plan
as $$
declare
    answer json;
begin
    select json_agg(parlor.item_json(l.i, l.b) order by (l.i).seq) into answer
    from (
        select i, b from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
        where i.stream = p_stream and i.platform_id = any (p_ids) order by i.seq limit p_limit
    ) l;
    return coalesce(answer, '[]');
end $$;

-- The last display name of each author, the latest author first. Looked for in the last 10,000 items only: a name that was not
-- heard for that long may be given to somebody else.
create function api.read_names(p_stream bigint, p_limit bigint) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_custom_plan
as $$
declare
    answer json;
begin
    select json_agg(json_build_array(l.author, l.name) order by l.seq desc) into answer
    from (
        select a.* from (
            select distinct on (i.author) i.author, b.name, i.seq
            from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
            where i.stream = p_stream and i.seq > (select h.seq - 10000 from parlor.stream_head h where h.stream = p_stream)
            order by i.author, i.seq desc
        ) a order by a.seq desc limit p_limit
    ) l;
    return coalesce(answer, '[]');
end $$;
