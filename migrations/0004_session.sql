-- What a room's actor reads and writes. Each function takes the boot and refuses an older one. A function that writes holds
-- the head's lock while it looks at the boot, and `begin` changes the boot under the same lock: so nothing of an older boot
-- commits after the newer one began.

create function parlor.check_boot(p_stream bigint, p_boot uuid) returns void
    language plpgsql stable
as $$
begin
    perform from parlor.session where stream = p_stream and boot = p_boot;
    if not found then
        raise exception 'a newer boot of stream % has begun', p_stream using errcode = 'PLF00';
    end if;
end $$;

create function api.begin(p_stream bigint, p_boot uuid) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.lock_head(p_stream);
    insert into parlor.session (stream, boot) values (p_stream, p_boot)
    on conflict (stream) do update set boot = excluded.boot, begun_at = clock_timestamp();
    -- What the boot before was handed and did not take up is free again, and nobody of it types any more.
    update parlor.job set lease_until_ms = 0 where stream = p_stream and state = 'open' and lease_until_ms > 0;
    delete from parlor.presence where stream = p_stream and own;
end $$;

-- An item with its body, and the message that it replies to or changes.
create function parlor.item_json(i parlor.item, b parlor.item_body) returns json
    language plpgsql stable
as $$
declare
    of_seq bigint;
    of_author text;
    row_key text;
begin
    if i.reply_to is not null or i.kind in ('edit', 'delete', 'reaction', 'unreaction') then
        select m.seq, m.author into of_seq, of_author from parlor.item m
        where m.stream = i.stream and m.platform_id = coalesce(i.reply_to, i.platform_id) and m.kind = 'message' order by m.seq limit 1;
    end if;
    if i.author_kind = 'own' then
        select o.dedupe into row_key from parlor.outbox o where o.stream = i.stream and o.echo_seq = i.seq;
    end if;
    return json_build_object('seq', i.seq, 'at_ms', i.at_ms, 'author', i.author, 'author_kind', i.author_kind, 'name', b.name,
        'kind', i.kind, 'event_key', i.event_key, 'platform_id', i.platform_id, 'reply_to', i.reply_to, 'text', b.body,
        'mentions', b.mentions, 'attachments', b.attachments, 'of_seq', of_seq, 'of_author', of_author, 'row', row_key);
end $$;

-- Items between two seqs (both exclusive), ascending; the oldest or the newest of them when there are more than the limit.
create function parlor.items_json(p_stream bigint, p_after bigint, p_before bigint, p_newest boolean, p_limit bigint) returns json
    language plpgsql stable
    set plan_cache_mode = force_custom_plan
as $$
declare
    answer json;
begin
    if p_newest then
        select json_agg(parlor.item_json(l.i, l.b) order by (l.i).seq) into answer
        from (
            select i, b from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
            where i.stream = p_stream and i.seq > p_after and i.seq < p_before order by i.seq desc limit p_limit
        ) l;
    else
        select json_agg(parlor.item_json(l.i, l.b) order by (l.i).seq) into answer
        from (
            select i, b from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
            where i.stream = p_stream and i.seq > p_after and i.seq < p_before order by i.seq limit p_limit
        ) l;
    end if;
    return coalesce(answer, '[]');
end $$;

-- What became of a row, in the core's words.
create function parlor.outcome_json(o parlor.outbox) returns json
    language sql stable
return case o.state
    when 'sent' then json_build_object('settled', json_build_object('platform_id', o.platform_id))
    when 'done' then json_build_object('settled', json_build_object('platform_id', o.platform_id))
    when 'shadow' then json_build_object('settled', json_build_object('platform_id', null))
    when 'refused' then json_build_object('refused', json_build_object('reason', coalesce(o.reason, '')))
    when 'parked' then json_build_object('parked', json_build_object('reason', coalesce(o.reason, '')))
    else to_json(o.state)
end;

create function parlor.typing_json(p_stream bigint) returns json
    language sql stable
return (
    select coalesce(json_agg(json_build_object('who', p.who, 'own', p.own, 'until_ms', p.typing_until_ms) order by p.who), '[]')
    from parlor.presence p where p.stream = p_stream and p.typing_until_ms > parlor.now_ms()
);

-- One statement, and the function is stable, so that all of it is read from one snapshot.
create function api.read_after(
    p_stream bigint, p_boot uuid, p_epoch bigint, p_seq bigint, p_outcome_n bigint, p_policy bigint, p_limit bigint
) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
declare
    s parlor.stream;
    h parlor.stream_head;
    p parlor.policy;
    t bigint := parlor.now_ms();
    items json := '[]';
begin
    perform parlor.check_boot(p_stream, p_boot);
    select * into s from parlor.stream where id = p_stream;
    select * into h from parlor.stream_head where stream = p_stream;
    select * into p from parlor.policy where stream = p_stream;
    if s.epoch = p_epoch and h.seq > p_seq then
        items := parlor.items_json(p_stream, p_seq, h.seq + 1, false, p_limit);
    end if;
    return json_build_object(
        'epoch', s.epoch, 'head', h.seq, 'items', items,
        'muted', parlor.hushed(p_stream, p.muted, false) is not null,
        'mute_ends_ms', (
            select nullif(max(coalesce(c.until_ms, 9223372036854775807)), 9223372036854775807)
            from parlor.chat_mute c where c.stream = p_stream and (c.until_ms is null or c.until_ms > t)
        ),
        'policy', case when p.revision <> p_policy then
            json_build_object('revision', p.revision, 'muted', p.muted, 'mode', p.mode, 'stopped', p.stopped, 'value', p.value) end,
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

create function api.history(p_stream bigint, p_boot uuid, p_before bigint, p_limit bigint) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.check_boot(p_stream, p_boot);
    return parlor.items_json(p_stream, 0, p_before, true, p_limit);
end $$;

-- Takes the words of the next items into the index; the head's lock is held by the caller.
create function parlor.index_words(p_stream bigint, p_limit bigint) returns void
    language plpgsql
    set plan_cache_mode = force_custom_plan
as $$
declare
    h parlor.stream_head;
    last bigint;
begin
    select * into h from parlor.stream_head where stream = p_stream;
    last := least(h.seq, h.words_seq + p_limit);
    if last > h.words_seq then
        insert into parlor.item_words (stream, seq, words)
        select p_stream, i.seq, to_tsvector('simple'::regconfig, left(b.body, 16000))
        from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
        where i.stream = p_stream and i.seq > h.words_seq and i.seq <= last and i.kind in ('message', 'edit');
        update parlor.stream_head set words_seq = last where stream = p_stream;
    end if;
end $$;

-- Up to 2,000 items with these words, by the index alone; of words in more than 10,000 items a random part is looked at.
create function parlor.indexed_hits(p_stream bigint, p_query tsquery) returns setof bigint
    language plpgsql stable
    set plan_cache_mode = force_custom_plan
    set enable_seqscan = off
    set enable_indexscan = off
    set gin_fuzzy_search_limit = 10000
as $$
begin
    return query select w.seq from parlor.item_words w where w.stream = p_stream and w.words @@ p_query limit 2000;
end $$;

-- The newest items with these words: of rare words by the index, of common ones by reading backwards until there are enough,
-- which is soon; what is not in the index yet one by one. (The planner cannot know which words are rare.)
create function parlor.newest_hits(p_stream bigint, p_query tsquery, p_limit bigint) returns bigint[]
    language plpgsql stable
    set plan_cache_mode = force_custom_plan
as $$
declare
    indexed bigint;
    hits bigint[];
    tail bigint[];
begin
    select words_seq into indexed from parlor.stream_head where stream = p_stream;
    hits := array(select parlor.indexed_hits(p_stream, p_query));
    if cardinality(hits) = 2000 then
        hits := array(
            select w.seq from parlor.item_words w where w.stream = p_stream and w.words @@ p_query order by w.seq desc limit p_limit);
    end if;
    tail := array(
        select t.seq from parlor.item_body t
        where t.stream = p_stream and t.seq > indexed and to_tsvector('simple'::regconfig, left(t.body, 16000)) @@ p_query
        order by t.seq desc limit p_limit);
    return array(select h from unnest(hits || tail) h order by h desc limit p_limit);
end $$;

-- Own history by words, newest first. What was deleted is not found.
create function api.search(p_stream bigint, p_boot uuid, p_words text, p_limit bigint) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_custom_plan
as $$
declare
    -- Some more than wanted, for those that were deleted since.
    hits bigint[] := parlor.newest_hits(p_stream, websearch_to_tsquery('simple'::regconfig, p_words), 4 * p_limit + 20);
    answer json;
begin
    perform parlor.check_boot(p_stream, p_boot);
    select json_agg(parlor.item_json(l.i, l.b) order by (l.i).seq desc) into answer
    from (
        select i, b from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
        where i.stream = p_stream and i.seq = any (hits) and i.kind in ('message', 'edit')
            and not exists (
                select from parlor.item d where d.stream = p_stream and d.platform_id = i.platform_id and d.kind = 'delete'
            )
        order by i.seq desc limit p_limit
    ) l;
    return coalesce(answer, '[]');
end $$;

create function api.persona_typing(p_stream bigint, p_boot uuid, p_persona text, p_until_ms bigint) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.check_boot(p_stream, p_boot);
    insert into parlor.presence (stream, who, own, typing_until_ms) values (p_stream, p_persona, true, p_until_ms)
    on conflict (stream, who) do update set typing_until_ms = excluded.typing_until_ms, own = true;
end $$;

create function api.note(p_stream bigint, p_boot uuid, p_person text, p_topic text, p_body text, p_supersedes bigint) returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    r bigint;
begin
    perform parlor.lock_head(p_stream);
    perform parlor.check_boot(p_stream, p_boot);
    if p_supersedes is not null and not exists (select from parlor.note where stream = p_stream and n = p_supersedes) then
        raise exception 'there is no note % to supersede', p_supersedes using errcode = 'PLR00';
    end if;
    insert into parlor.note (stream, n, person_id, topic, body, at_ms, supersedes)
    select p_stream, coalesce(max(n), 0) + 1, p_person, p_topic, p_body, parlor.now_ms(), p_supersedes
    from parlor.note where stream = p_stream
    returning n into r;
    return r;
end $$;

create function api.notes(p_stream bigint, p_boot uuid, p_people text[], p_limit bigint) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
declare
    answer json;
begin
    perform parlor.check_boot(p_stream, p_boot);
    select json_agg(json_build_object('n', l.n, 'person_id', l.person_id, 'topic', l.topic, 'body', l.body, 'at_ms', l.at_ms) order by l.n desc)
    into answer
    from (
        select * from parlor.note a
        where a.stream = p_stream and a.person_id = any (p_people)
            and not exists (select from parlor.note b where b.stream = p_stream and b.supersedes = a.n)
        order by a.n desc limit p_limit
    ) l;
    return coalesce(answer, '[]');
end $$;

create function api.remind(
    p_stream bigint, p_boot uuid, p_dedupe text, p_due_ms bigint, p_expires_ms bigint, p_persona text, p_body text
) returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.lock_head(p_stream);
    perform parlor.check_boot(p_stream, p_boot);
    return parlor.put_job(p_stream, p_dedupe, p_due_ms, p_expires_ms, p_persona, p_body);
end $$;

-- A handed out job that no step took up within a minute is handed out again.
create function api.job_claim(p_stream bigint, p_boot uuid, p_limit bigint) returns json
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    t bigint := parlor.now_ms();
    answer json;
begin
    perform parlor.lock_head(p_stream);
    perform parlor.check_boot(p_stream, p_boot);
    update parlor.job set state = 'expired' where stream = p_stream and state = 'open' and expires_ms <= t and lease_until_ms <= t;
    with due as (
        select n from parlor.job
        where stream = p_stream and state = 'open' and due_ms <= t and lease_until_ms <= t
        order by due_ms, n limit p_limit
    ), taken as (
        update parlor.job j set lease_until_ms = t + 60000 from due where j.stream = p_stream and j.n = due.n returning j.*
    )
    select json_agg(json_build_object('n', a.n, 'dedupe', a.dedupe, 'due_ms', a.due_ms, 'expires_ms', a.expires_ms, 'persona', a.persona,
        'text', a.body) order by a.due_ms, a.n)
    into answer from taken a;
    return coalesce(answer, '[]');
end $$;
