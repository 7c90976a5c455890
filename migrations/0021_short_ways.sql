-- The ways that a line and an answer take through the ledger, made short: what is called for each line is planned once a connection
-- and not once a call, and a post of the ledger's own surface is claimed, stored and settled by one commit.
--
-- A function in SQL that is not inlined is planned at each call, so what is called often is in plpgsql, which keeps its plans. A
-- plan for any value of its parameters (force_generic_plan) is only for tables that are not partitioned.

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
    return case when p_stopped then 'stopped' end;
end $$;

create or replace function parlor.typing_json(p_stream bigint) returns json
    language plpgsql stable
as $$
begin
    return (
        select coalesce(json_agg(json_build_object('who', p.who, 'own', p.own, 'until_ms', p.typing_until_ms) order by p.who), '[]')
        from parlor.presence p where p.stream = p_stream and p.typing_until_ms > parlor.now_ms()
    );
end $$;

-- The one form of an item; `of` is the message that it replies to or changes.
create function parlor.item_json(i parlor.item, b parlor.item_body, of_seq bigint, of_author text) returns json
    language plpgsql stable
as $$
begin
    return json_build_object('seq', i.seq, 'at_ms', i.at_ms, 'author', i.author, 'author_kind', i.author_kind, 'name', b.name,
        'kind', i.kind, 'event_key', i.event_key, 'platform_id', i.platform_id, 'reply_to', i.reply_to, 'text', b.body,
        'mentions', b.mentions, 'attachments', b.attachments, 'of_seq', of_seq, 'of_author', of_author,
        'row', case when i.author_kind = 'own' then parlor.row_of_echo(i.stream, i.seq) end);
end $$;

-- The outbox row that an own item is the echo of.
create function parlor.row_of_echo(p_stream bigint, p_seq bigint) returns text
    language plpgsql stable
    set plan_cache_mode = force_generic_plan
as $$
begin
    return (select o.dedupe from parlor.outbox o where o.stream = p_stream and o.echo_seq = p_seq);
end $$;

create or replace function parlor.item_json(i parlor.item, b parlor.item_body) returns json
    language plpgsql stable
as $$
declare
    of_seq bigint;
    of_author text;
begin
    if i.reply_to is not null or i.kind in ('edit', 'delete', 'reaction', 'unreaction') then
        select m.seq, m.author into of_seq, of_author from parlor.item m
        where m.stream = i.stream and m.platform_id = coalesce(i.reply_to, i.platform_id) and m.kind = 'message' order by m.seq limit 1;
    end if;
    return parlor.item_json(i, b, of_seq, of_author);
end $$;

-- As before, but what belongs to the items is looked up for all of them at once; mostly there is nothing to look up. Seqs have no
-- gaps, so which items these are is known without looking.
create or replace function parlor.items_json(p_stream bigint, p_after bigint, p_before bigint, p_newest boolean, p_limit bigint) returns json
    language plpgsql stable
    set plan_cache_mode = force_custom_plan
as $$
declare
    head bigint := (select h.seq from parlor.stream_head h where h.stream = p_stream);
    first bigint := least(p_after, head) + 1;
    last bigint := least(p_before - 1, head);
    ids text[];
    answer json;
begin
    if p_newest then
        first := greatest(first, last - p_limit + 1);
    else
        last := least(last, first + p_limit - 1);
    end if;
    ids := array(
        select distinct coalesce(i.reply_to, i.platform_id) from parlor.item i
        where i.stream = p_stream and i.seq between first and last
            and (i.reply_to is not null or i.kind in ('edit', 'delete', 'reaction', 'unreaction'))
    );
    if ids = '{}' then
        select json_agg(parlor.item_json(i, b, null, null) order by i.seq) into answer
        from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
        where i.stream = p_stream and i.seq between first and last and b.seq between first and last;
    else
        with message as materialized (
            select distinct on (t.platform_id) t.platform_id as id, t.seq, t.author from parlor.item t
            where t.stream = p_stream and t.platform_id = any (ids) and t.kind = 'message' order by t.platform_id, t.seq
        )
        select json_agg(parlor.item_json(i, b, m.seq, m.author) order by i.seq) into answer
        from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
        left join message m on m.id = coalesce(i.reply_to, i.platform_id)
            and (i.reply_to is not null or i.kind in ('edit', 'delete', 'reaction', 'unreaction'))
        where i.stream = p_stream and i.seq between first and last and b.seq between first and last;
    end if;
    return coalesce(answer, '[]');
end $$;

create or replace function api.read_after(
    p_stream bigint, p_boot uuid, p_epoch bigint, p_seq bigint, p_outcome_n bigint, p_policy bigint, p_limit bigint
) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_generic_plan
as $$
declare
    r record;
    t bigint := parlor.now_ms();
    items json := '[]';
begin
    perform parlor.check_boot(p_stream, p_boot);
    select s.epoch, h.seq, p.revision, p.muted, p.mode, p.stopped, p.value into r
    from parlor.stream s join parlor.stream_head h on h.stream = s.id left join parlor.policy p on p.stream = s.id
    where s.id = p_stream;
    if r.epoch = p_epoch and r.seq > p_seq then
        items := parlor.items_json(p_stream, p_seq, r.seq + 1, false, p_limit);
    end if;
    return json_build_object(
        'epoch', r.epoch, 'head', r.seq, 'items', items,
        'muted', parlor.hushed(p_stream, r.muted, false) is not null,
        'mute_ends_ms', (
            select nullif(max(coalesce(c.until_ms, 9223372036854775807)), 9223372036854775807)
            from parlor.chat_mute c where c.stream = p_stream and (c.until_ms is null or c.until_ms > t)
        ),
        'policy', case when r.revision <> p_policy then
            json_build_object('revision', r.revision, 'muted', r.muted, 'mode', r.mode, 'stopped', r.stopped, 'value', r.value) end,
        'outcomes', (
            select coalesce(json_agg(json_build_object('outcome_n', o.outcome_n, 'row', o.dedupe, 'outcome', parlor.outcome_json(o)) order by o.outcome_n), '[]')
            from (select * from parlor.outbox where stream = p_stream and outcome_n > p_outcome_n order by outcome_n limit p_limit) o
        ),
        'typing', parlor.typing_json(p_stream),
        'due_jobs', (
            select count(*) from parlor.job j
            where j.stream = p_stream and j.state = 'open' and j.due_ms <= t and j.lease_until_ms <= t
        ),
        'next_job_ms', (
            select min(greatest(j.due_ms, j.lease_until_ms)) from parlor.job j
            where j.stream = p_stream and j.state = 'open' and (j.due_ms > t or j.lease_until_ms > t)
        )
    );
end $$;

-- Takes the oldest row of a stream that may be posted now; all null when there is none. The policy row is locked FOR SHARE before
-- anything is looked at, and every mute locks it FOR UPDATE: after a mute's commit nothing is taken.
create function parlor.take_row(p_stream bigint, p_lease_ms bigint) returns parlor.outbox
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

-- For a surface outside of this ledger: the claim is committed before the platform hears of the row. Streams are taken in ascending
-- order of their oldest row's age; the first that gives a row ends the search.
create or replace function api.claim(p_streams bigint[], p_lease_ms bigint) returns json
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    s bigint;
    r parlor.outbox;
begin
    for s in
        select c.stream from (
            select distinct on (o.stream) o.stream, o.created_ms from parlor.outbox o
            where o.stream = any (p_streams) and o.state in ('queued', 'claimed') order by o.stream, o.n
        ) c order by c.created_ms, c.stream
    loop
        r := parlor.take_row(s, p_lease_ms);
        if r.n is not null then
            return json_build_object('stream', s, 'n', r.n, 'fence', r.fence, 'dedupe', r.dedupe, 'persona', r.persona,
                'kind', r.kind, 'reply_to', r.reply_to, 'reply_shows', r.reply_shows, 'emoji', r.emoji, 'body', r.body,
                'nonce', 'p' || s || '.' || r.n, 'first_claimed_ms', r.claimed_ms, 'expires_ms', r.expires_ms);
        end if;
    end loop;
    return null;
end $$;

-- Whether a message stands in the room.
create function parlor.stands(p_stream bigint, p_platform_id text) returns boolean
    language plpgsql stable
    set plan_cache_mode = force_custom_plan
as $$
begin
    return (
        select bool_or(i.kind = 'message') and not bool_or(i.kind = 'delete')
        from parlor.item i where i.stream = p_stream and i.platform_id = p_platform_id and i.kind in ('message', 'delete')
    ) is true;
end $$;

-- Shows a taken row in its stream, as an item under the row's nonce: the same row again is the same item. Why it cannot be shown,
-- null if it is. The head's lock is held by the caller.
create function parlor.show_row(r parlor.outbox, p_name text, p_at_ms bigint) returns text
    language plpgsql
    set plan_cache_mode = force_generic_plan
as $$
declare
    nonce text := 'p' || r.stream || '.' || r.n;
    shown bigint;
begin
    if r.kind = 'post' then
        -- Posted before, and its target deleted since: what stands in the room is not refused afterwards.
        if r.reply_to is not null and not parlor.stands(r.stream, r.reply_to) and (r.fence = 1 or parlor.own_message(r.stream, nonce) is null) then
            return 'target_gone';
        end if;
        if r.body !~ '[^[:space:]]' then
            return 'empty';
        end if;
        shown := (select o.seq from parlor.ingest_one(r.stream, p_at_ms, r.persona, 'own', p_name, 'message', 'm:' || nonce, nonce,
            case when r.reply_shows then r.reply_to end, r.body, '[]', '[]') o);
    elsif (api.message_state(r.stream, r.reply_to, r.persona, r.emoji) ->> 'reacted')::boolean then
        -- By an earlier row: a surface shows an emoji of the same reactor once.
        perform parlor.end_row(r.stream, r.n, 'sent', null);
        return null;
    elsif not parlor.stands(r.stream, r.reply_to) then
        return 'target_gone';
    else
        shown := (select o.seq from parlor.ingest_one(r.stream, p_at_ms, r.persona, 'own', p_name, 'reaction',
            format('r:%s:%s:%s:%s', r.reply_to, r.persona, r.emoji, nonce), r.reply_to, null, r.emoji, '[]', '[]') o);
    end if;
    perform parlor.echo_row(r.stream, r.n, nonce, shown);
    return null;
exception when check_violation or not_null_violation or data_exception then
    return 'not_storable';
end $$;

-- For a surface that is this ledger: the oldest row that may be posted is taken, shown and done by one commit, so that there is no
-- moment at which it is out and nobody knows. p_names: display names by persona. What became of the row; null when there is none.
create function api.speak(p_stream bigint, p_names json, p_at_ms bigint) returns json
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    r parlor.outbox;
    why text;
begin
    -- Mostly nothing waits, and then nothing is locked, so that a look costs no commit.
    if not exists (select from parlor.outbox o where o.stream = p_stream and o.state in ('queued', 'claimed')) then
        return null;
    end if;
    r := parlor.take_row(p_stream, 1);
    if r.n is null then
        return null;
    end if;
    why := parlor.show_row(r, coalesce(p_names ->> r.persona, r.persona), p_at_ms);
    if why is not null then
        perform parlor.end_row(p_stream, r.n, 'refused', why);
    end if;
    return json_build_object('n', r.n, 'dedupe', r.dedupe, 'refused', why);
end $$;

-- Audit rows are numbered by themselves, not under the head's lock: that of the call that has just been answered would stand in the
-- way of the answer. Of two that take the same number one waits for the other's commit and takes the next.
create or replace function api.audit(
    p_stream bigint, p_persona text, p_purpose text, p_model text, p_tokens bigint, p_cost_micro bigint, p_duration_ms bigint, p_outcome text
) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    loop
        insert into parlor.audit (stream, n, at_ms, persona, purpose, model, tokens, cost_micro, duration_ms, outcome)
        select p_stream, coalesce(max(n), 0) + 1, parlor.now_ms(), p_persona, p_purpose, p_model, p_tokens, p_cost_micro, p_duration_ms, p_outcome
        from parlor.audit where stream = p_stream
        on conflict (stream, n) do nothing;
        exit when found;
    end loop;
end $$;
