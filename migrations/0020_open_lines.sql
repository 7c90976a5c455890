-- What a machine that lost its state has to be told again: the lines of obligations that were opened and not ended, unless a
-- row of the outbox covers them. Read from the decisions and the outbox, which outlive every format of a snapshot.

create function api.open_lines(p_stream bigint, p_boot uuid, p_limit bigint) returns bigint[]
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
declare
    answer bigint[];
begin
    perform parlor.check_boot(p_stream, p_boot);
    with said as (
        -- What a machine owes it decided about lately: a room holds 64 obligations at most.
        select d.n, d.what, d.persona, d.lines, o.id
        from parlor.decision d cross join lateral unnest(d.obligations) o(id)
        where d.stream = p_stream and d.n > (select coalesce(max(n), 0) - 5000 from parlor.decision where stream = p_stream)
    ), opened as (
        select id, min(n) as n from said where what = 'opened' group by id
    ), owed as (
        select id from said group by id
        having bool_or(what = 'opened')
            and not bool_or(what in ('settled', 'answered', 'withdrawn', 'passed', 'declined', 'expired', 'overflowed'))
    ), lines as (
        select distinct l.seq
        from said s join owed using (id) join opened o using (id) cross join lateral unnest(s.lines) l(seq)
        -- A machine that was rebuilt before opened the same again under another id: the newest tells what became of it.
        where not exists (
            select from said t join opened later using (id)
            where later.n > o.n and t.persona is not distinct from s.persona and l.seq = any (t.lines)
        ) and not exists (
            select from parlor.outbox r
            where r.stream = p_stream and jsonb_exists(r.obligations -> 'settles', s.id)
                and r.state not in ('refused', 'withdrawn', 'expired')
        )
        order by l.seq desc limit p_limit
    )
    select array_agg(seq order by seq) into answer from lines;
    return coalesce(answer, '{}');
end $$;
