-- What the gateway's ear writes: items, and who is typing.

create function parlor.trust_of(author_kind text) returns smallint
    language sql immutable
return (case author_kind when 'owner' then 0 when 'human' then 1 when 'own' then 2 else 3 end)::smallint;

-- The outbox row of an own event: by the nonce's number, else by the platform id that the mouth was told. An own post has the
-- row that it is the echo of, an own edit or delete the row of the post that it changes.
create function parlor.row_of_own(p_stream bigint, p_n bigint, p_platform_id text) returns parlor.outbox
    language plpgsql
as $$
declare
    r parlor.outbox;
begin
    if p_n is not null then
        select * into r from parlor.outbox where stream = p_stream and n = p_n;
    end if;
    if r.n is null then
        select * into r from parlor.outbox
        where stream = p_stream and platform_id = p_platform_id and kind = 'post' order by n desc limit 1;
    end if;
    return r;
end $$;

-- Our own post was seen in the room: the row is done, whatever was thought of it before. What was already told as settled is
-- not told again.
create function parlor.echo_row(p_stream bigint, p_n bigint, p_platform_id text, p_seq bigint) returns void
    language plpgsql
as $$
declare
    r parlor.outbox;
begin
    select * into r from parlor.outbox where stream = p_stream and n = p_n for update;
    if r.echo_seq is not null then
        return;
    end if;
    -- The event of a reaction carries the id of the message that it is on, not one of its own.
    update parlor.outbox
    set echo_seq = p_seq, platform_id = coalesce(platform_id, case when kind = 'post' then p_platform_id end)
    where stream = p_stream and n = p_n;
    if r.state = 'sent' then
        update parlor.outbox set state = 'done' where stream = p_stream and n = p_n;
    else
        perform parlor.end_row(p_stream, p_n, 'done', null);
    end if;
end $$;

create function parlor.known_keys(p_stream bigint, p_keys text[]) returns table (event_key text, seq bigint)
    language plpgsql stable
    set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query select it.event_key::text, it.seq from parlor.item it where it.stream = p_stream and it.event_key = any (p_keys);
end $$;

-- The commonest case, one event of somebody else, in the fewest statements; the head's lock is taken here. A known key does not
-- conflict with the number, so it is found by the insert itself.
create function parlor.ingest_one(
    p_stream bigint, p_at_ms bigint, p_author text, p_author_kind text, p_name text, p_kind text, p_event_key text, p_platform_id text,
    p_reply_to text, p_body text, p_mentions text, p_attachments text, out seq bigint, out fresh boolean
)
    language plpgsql
as $$
#variable_conflict use_column
declare
    salt bytea := uuid_send(gen_random_uuid());
    next bigint;
begin
    update parlor.stream_head h set seq = h.seq + 1 where h.stream = p_stream returning h.seq into next;
    if not found then
        raise exception 'there is no stream %', p_stream using errcode = 'PLR00';
    end if;
    insert into parlor.item (stream, seq, at_ms, author, author_kind, trust, kind, event_key, platform_id, reply_to, digest)
    values (p_stream, next, p_at_ms, p_author, p_author_kind, parlor.trust_of(p_author_kind), p_kind, p_event_key, p_platform_id, p_reply_to,
        sha256(salt || convert_to(p_body, 'UTF8')))
    on conflict (event_key, stream) do nothing;
    if found then
        insert into parlor.item_body (stream, seq, salt, name, body, mentions, attachments)
        values (p_stream, next, salt, p_name, p_body, p_mentions::jsonb, p_attachments::jsonb);
        seq := next;
        fresh := true;
    else
        update parlor.stream_head h set seq = next - 1 where h.stream = p_stream;
        seq := (select k.seq from parlor.known_keys(p_stream, array[p_event_key]) k);
        fresh := false;
    end if;
end $$;

-- Stores events once each. The head rows of all streams are locked first, in ascending order; then each statement sees what
-- the holders before us committed, so that a number is never given twice and none is left out. Everything after the lock is
-- short, and it is the end of the transaction.
create function api.ingest(
    p_stream bigint[], p_at_ms bigint[], p_author text[], p_author_kind text[], p_name text[], p_kind text[], p_event_key text[],
    p_platform_id text[], p_reply_to text[], p_body text[], p_mentions text[], p_attachments text[], p_outbox_n bigint[]
) returns table (i integer, stream bigint, seq bigint, fresh boolean, dedupe text)
    language plpgsql
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    streams bigint[];
    bases bigint[];
    s bigint;
    base bigint;
    known_keys text[];
    known_seqs bigint[];
    places bigint[];
    seqs bigint[];
    news boolean[];
    e bigint;
    r parlor.outbox;
    rows bigint[] := array_fill(null::bigint, array[cardinality(p_stream)]);
    keys text[] := array_fill(null::text, array[cardinality(p_stream)]);
    own boolean := 'own' = any (p_author_kind);
begin
    if cardinality(p_stream) = 1 and not own then
        return query select 1, p_stream[1], o.seq, o.fresh, null::text
        from parlor.ingest_one(p_stream[1], p_at_ms[1], p_author[1], p_author_kind[1], p_name[1], p_kind[1], p_event_key[1],
            p_platform_id[1], p_reply_to[1], p_body[1], p_mentions[1], p_attachments[1]) o;
        return;
    end if;
    select array_agg(l.stream), array_agg(l.seq) into streams, bases
    from (select h.stream, h.seq from parlor.stream_head h where h.stream = any (p_stream) order by h.stream for update) l;
    if not p_stream <@ coalesce(streams, '{}') then
        raise exception 'there is no such stream' using errcode = 'PLR00';
    end if;
    for j in 1 .. cardinality(streams) loop
        s := streams[j];
        base := bases[j];
        -- Own items: their author is the row's persona. A second event for a row that has its echo is no echo.
        if own then
            for e in
                select u.i from unnest(p_stream, p_author_kind) with ordinality u(stream, kind, i)
                where u.stream = s and u.kind = 'own' order by u.i
            loop
                r := parlor.row_of_own(s, p_outbox_n[e], p_platform_id[e]);
                if r.n is not null then
                    p_author[e] := r.persona;
                    if (r.kind, p_kind[e]) in (('post', 'message'), ('react', 'reaction')) and (r.echo_seq is null
                        or exists (select from parlor.known_keys(s, array[p_event_key[e]]) k where k.seq = r.echo_seq)) then
                        rows[e] := r.n;
                        keys[e] := r.dedupe;
                    end if;
                end if;
            end loop;
        end if;
        -- First as if all were new, as they nearly always are; if one is not, all again with those that are known left out.
        known_keys := null;
        known_seqs := null;
        loop
            begin
                with given as materialized (
                    select u.*, k.seq as known, min(u.i) over (partition by u.event_key) as first_i
                    from unnest(p_stream, p_at_ms, p_author, p_author_kind, p_name, p_kind, p_event_key, p_platform_id, p_reply_to,
                        p_body, p_mentions, p_attachments) with ordinality u(stream, at_ms, author, author_kind, name, kind, event_key,
                        platform_id, reply_to, body, mentions, attachments, i)
                    left join unnest(known_keys, known_seqs) k(event_key, seq) on k.event_key = u.event_key
                    where u.stream = s
                ), new as materialized (
                    select g.*, base + row_number() over (order by g.i) as seq, uuid_send(gen_random_uuid()) as salt
                    from given g where g.known is null and g.i = g.first_i
                ), head as (
                    update parlor.stream_head h set seq = base + c.added
                    from (select count(*) as added from new) c where h.stream = s and c.added > 0
                ), items as (
                    insert into parlor.item (stream, seq, at_ms, author, author_kind, trust, kind, event_key, platform_id, reply_to, digest)
                    select s, n.seq, n.at_ms, n.author, n.author_kind, parlor.trust_of(n.author_kind), n.kind, n.event_key,
                        n.platform_id, n.reply_to, sha256(n.salt || convert_to(n.body, 'UTF8'))
                    from new n
                ), bodies as (
                    insert into parlor.item_body (stream, seq, salt, name, body, mentions, attachments)
                    select s, n.seq, n.salt, n.name, n.body, n.mentions::jsonb, n.attachments::jsonb from new n
                ), answer as (
                    select n.i, n.seq, true as fresh from new n
                    union all
                    select g.i, coalesce(g.known, n.seq), false
                    from given g left join new n on n.i = g.first_i where g.known is not null or g.i <> g.first_i
                )
                select array_agg(a.i), array_agg(a.seq), array_agg(a.fresh) into places, seqs, news from answer a;
                exit;
            exception when unique_violation then
                if known_keys is not null then
                    raise;
                end if;
                select array_agg(k.event_key), array_agg(k.seq) into known_keys, known_seqs from parlor.known_keys(s, p_event_key) k;
            end;
        end loop;
        return query select u.i::integer, s, u.seq, u.fresh, keys[u.i] from unnest(places, seqs, news) u(i, seq, fresh);
        -- The rows of the echoes that are new, or known from before the mouth had told its platform id.
        if own then
            for e in
                select u.i from unnest(p_stream, rows) with ordinality u(stream, n, i) where u.stream = s and u.n is not null order by u.i
            loop
                perform parlor.echo_row(s, rows[e], p_platform_id[e], k.seq) from parlor.known_keys(s, array[p_event_key[e]]) k;
            end loop;
        end if;
    end loop;
end $$;

create function api.presence(p_stream bigint, p_who text, p_until_ms bigint) returns void
    language sql
    set search_path = pg_catalog, pg_temp
begin atomic
    insert into parlor.presence (stream, who, own, typing_until_ms) values (p_stream, p_who, false, p_until_ms)
    on conflict (stream, who) do update set typing_until_ms = excluded.typing_until_ms where not presence.own;
end;

-- What stands under a platform id, and whether somebody has an emoji on it. Null when there is no such message.
create function api.message_state(p_stream bigint, p_platform_id text, p_who text, p_emoji text) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_custom_plan
as $$
declare
    m parlor.item;
    last parlor.item;
begin
    select * into m from parlor.item
    where stream = p_stream and platform_id = p_platform_id and kind = 'message' order by seq limit 1;
    if not found then
        return null;
    end if;
    select i.* into last from parlor.item i join parlor.item_body b on b.stream = p_stream and b.seq = i.seq
    where i.stream = p_stream and i.platform_id = p_platform_id and i.kind in ('reaction', 'unreaction') and i.author = p_who and b.body = p_emoji
    order by i.seq desc limit 1;
    return json_build_object('seq', m.seq, 'author', m.author,
        'deleted', exists (select from parlor.item where stream = p_stream and platform_id = p_platform_id and kind = 'delete'),
        'reacted', last.kind is not distinct from 'reaction', 'reaction_seq', last.seq);
end $$;
