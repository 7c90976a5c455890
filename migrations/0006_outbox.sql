-- The gateway's mouth: takes rows from the outbox and says what became of them.

-- The oldest row of these streams that may be posted now. Each stream's policy row is locked FOR SHARE before anything of it
-- is looked at, and every mute locks it FOR UPDATE: after a mute's commit nothing is claimed. Streams are taken in ascending
-- order of their oldest row's age; the first that gives a row ends the search.
create function api.claim(p_streams bigint[], p_lease_ms bigint) returns json
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    s bigint;
    p parlor.policy;
    r parlor.outbox;
    t bigint := parlor.now_ms();
begin
    for s in
        select c.stream from (
            select distinct on (o.stream) o.stream, o.created_ms from parlor.outbox o
            where o.stream = any (p_streams) and o.state in ('queued', 'claimed') order by o.stream, o.n
        ) c order by c.created_ms, c.stream
    loop
        select * into p from parlor.policy where stream = s for share;
        if parlor.hushed(s, p.muted, p.stopped) is not null or p.mode <> 'Active' then
            continue;
        end if;
        perform parlor.lock_head(s);
        loop
            select * into r from parlor.outbox
            where stream = s and dest = 'surface' and state in ('queued', 'claimed') order by n limit 1 for update;
            -- One at a time: a later row waits while an earlier one is with a gateway.
            exit when not found or (r.state = 'claimed' and r.lease_until_ms > t);
            if r.expires_ms <= t and r.state = 'claimed' then
                -- A gateway had it and is gone: it may have been posted.
                perform parlor.end_row(s, r.n, 'parked', 'lease_lost');
            elsif r.expires_ms <= t then
                perform parlor.end_row(s, r.n, 'expired', null);
            elsif r.unprompted and r.state = 'queued' and parlor.unprompted_lately(s, r.persona, r.n, array['claimed', 'sent', 'done', 'parked'])
                >= parlor.unprompted_budget(p.value) then
                perform parlor.end_row(s, r.n, 'refused', 'no_budget');
            else
                update parlor.outbox
                set state = 'claimed', fence = fence + 1, claimed_ms = coalesce(claimed_ms, t),
                    lease_until_ms = t + least(greatest(p_lease_ms, 1), 600000)
                where stream = s and n = r.n
                returning * into r;
                return json_build_object('stream', s, 'n', r.n, 'fence', r.fence, 'dedupe', r.dedupe, 'persona', r.persona,
                    'kind', r.kind, 'reply_to', r.reply_to, 'reply_shows', r.reply_shows, 'emoji', r.emoji, 'body', r.body,
                    'nonce', 'p' || s || '.' || r.n, 'first_claimed_ms', r.claimed_ms, 'expires_ms', r.expires_ms);
            end if;
        end loop;
    end loop;
    return null;
end $$;

-- The row, if this fence is its newest; under the head's lock.
create function parlor.fenced_row(p_stream bigint, p_n bigint, p_fence bigint) returns parlor.outbox
    language plpgsql
as $$
declare
    r parlor.outbox;
begin
    perform parlor.lock_head(p_stream);
    select * into r from parlor.outbox where stream = p_stream and n = p_n and fence = p_fence and fence > 0 for update;
    return r;
end $$;

create function parlor.own_message(p_stream bigint, p_platform_id text) returns bigint
    language plpgsql stable
    set plan_cache_mode = force_custom_plan
as $$
begin
    return (
        select min(i.seq) from parlor.item i
        where i.stream = p_stream and i.platform_id = p_platform_id and i.kind = 'message' and i.author_kind = 'own'
    );
end $$;

-- The platform took it. The echo may have come before this answer, with or without a nonce.
create function api.settle(p_stream bigint, p_n bigint, p_fence bigint, p_platform_id text) returns boolean
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    r parlor.outbox := parlor.fenced_row(p_stream, p_n, p_fence);
    echo bigint;
begin
    if r.state in ('sent', 'done') then
        update parlor.outbox set platform_id = coalesce(platform_id, p_platform_id) where stream = p_stream and n = p_n;
        return true;
    end if;
    if r.state is distinct from 'claimed' then
        return false;
    end if;
    update parlor.outbox set platform_id = p_platform_id where stream = p_stream and n = p_n;
    echo := case when r.kind = 'post' then parlor.own_message(p_stream, p_platform_id) end;
    if echo is null then
        perform parlor.end_row(p_stream, p_n, 'sent', null);
    else
        perform parlor.echo_row(p_stream, p_n, p_platform_id, echo);
    end if;
    return true;
end $$;

-- Ends a claimed row that was not posted for certain; false where the claim is not the newest.
create function parlor.end_claimed(p_stream bigint, p_n bigint, p_fence bigint, p_state text, p_reason text) returns boolean
    language plpgsql
as $$
declare
    r parlor.outbox := parlor.fenced_row(p_stream, p_n, p_fence);
begin
    if r.state is distinct from 'claimed' then
        return false;
    end if;
    perform parlor.end_row(p_stream, p_n, p_state, p_reason);
    return true;
end $$;

create function api.park(p_stream bigint, p_n bigint, p_fence bigint, p_reason text) returns boolean
    language sql
    set search_path = pg_catalog, pg_temp
return parlor.end_claimed(p_stream, p_n, p_fence, 'parked', p_reason);

create function api.refuse(p_stream bigint, p_n bigint, p_fence bigint, p_reason text) returns boolean
    language sql
    set search_path = pg_catalog, pg_temp
return parlor.end_claimed(p_stream, p_n, p_fence, 'refused', p_reason);

-- What a gateway has read of the policy: a stop is reported only after it was seen.
create function api.policy_seen(p_stream bigint, p_revision bigint) returns void
    language sql
    set search_path = pg_catalog, pg_temp
begin atomic
    insert into parlor.policy_seen (stream, revision, at_ms) values (p_stream, p_revision, parlor.now_ms())
    on conflict (stream) do update set revision = excluded.revision, at_ms = excluded.at_ms;
end;
