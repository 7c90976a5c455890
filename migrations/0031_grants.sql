-- Grants: what a room may know of another stream, fixed item by item, for a purpose and a time, and taken back by deletion.
--
-- A grant is rows that nobody changes: the grant, its items with the digests of their bodies, each use. It ends by a row in
-- `revocation`. Everything that writes rows of a grant's target or ends a grant holds the lock of the target's head row, so that what
-- comes after the end of a grant sees that it has ended.
--
-- A room whose session has loaded anything by a grant stamps the grant on all that it writes from then on.

create table parlor.grant (
    id text primary key check (octet_length(id) between 1 and 256),
    source bigint not null references parlor.stream,
    target bigint not null references parlor.stream,
    mode text not null check (mode in ('Read', 'Release')),
    purpose text not null check (char_length(purpose) between 10 and 500),
    granted_by text not null check (octet_length(granted_by) between 1 and 256),
    made_ms bigint not null,
    expires_ms bigint not null check (expires_ms > made_ms),
    -- Of what was asked for, so that the same resource again is the same grant and another one is refused.
    asked bytea not null,
    check (source <> target)
);
create index grant_target on parlor.grant (target);

create table parlor.grant_item (
    grant_id text not null references parlor.grant,
    stream bigint not null,
    seq bigint not null,
    digest bytea not null,
    primary key (grant_id, seq)
);

create table parlor.grant_use (
    grant_id text not null references parlor.grant,
    n bigint not null,
    at_ms bigint not null,
    kind text not null check (kind in ('read', 'release')),
    by_role name not null default session_user,
    incarnation integer not null,
    items integer not null,
    primary key (grant_id, n)
);
-- A release happens once, however many try.
create unique index grant_use_release on parlor.grant_use (grant_id) where kind = 'release';

-- The end of a grant, and how far its consequences have come.
create table parlor.revocation (
    grant_id text primary key references parlor.grant,
    why text not null check (why in ('revoked', 'expired')),
    requested_ms bigint not null,
    rows_invisible_ms bigint not null,
    rows_refused bigint not null,
    derived_hidden bigint not null,
    sessions_ended_ms bigint,
    incarnation_replaced_ms bigint
);

alter table parlor.item add column grant_id parlor.id;
alter table parlor.outbox add column grants text[] not null default '{}';
alter table parlor.decision add column grants text[] not null default '{}';
alter table parlor.note add column grants text[] not null default '{}';
alter table parlor.session
    -- The Read grants that were live when the login was made; it never grows.
    add column grants text[] not null default '{}',
    -- Those of them that were loaded.
    add column loaded text[] not null default '{}';

create function parlor.grant_is_live(p_id text) returns boolean
    language plpgsql stable
as $$
begin
    return exists (
        select from parlor.grant g
        where g.id = p_id and g.expires_ms > parlor.now_ms() and not exists (select from parlor.revocation r where r.grant_id = g.id)
    );
end $$;

-- Those of these that have ended.
create function parlor.ended_grants(p_ids text[]) returns text[]
    language plpgsql stable
as $$
begin
    return case when p_ids = '{}' then p_ids else array(select i from unnest(p_ids) i where not parlor.grant_is_live(i)) end;
end $$;

-- What this session has loaded; the head's lock is held by the caller.
create function parlor.lineage() returns text[]
    language plpgsql stable
as $$
begin
    return coalesce((select s.loaded from parlor.session s where s.role = session_user), '{}');
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- Making a grant

-- The newest version of each message, as far as it was not taken back.
create function parlor.current_items(p_stream bigint, p_platform_ids text[]) returns table (seq bigint, digest bytea)
    language plpgsql stable
    set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query
    select max(i.seq), (array_agg(i.digest order by i.seq desc))[1] from parlor.item i
    where i.stream = p_stream and i.platform_id = any (p_platform_ids) and i.kind in ('message', 'edit')
        and not exists (
            select from parlor.item d where d.stream = p_stream and d.platform_id = i.platform_id and d.kind = 'delete'
        )
    group by i.platform_id;
end $$;

-- p_items: {"platform_ids": [...]}, {"seqs": [...]} or {"author": id, "from_ms": n, "to_ms": n}. Which items that names is decided
-- here, once. Gives {"count": n, "digest": hex of all digests in order, "fresh": whether it was made by this call}.
create function api.apply_grant(
    p_id text, p_source bigint, p_target bigint, p_mode text, p_items json, p_purpose text, p_granted_by text, p_expires_ms bigint
) returns json
    language plpgsql
    set search_path = pg_catalog, pg_temp
    set plan_cache_mode = force_custom_plan
as $$
declare
    source parlor.stream;
    target parlor.stream;
    known parlor.grant;
    asked bytea := sha256(convert_to(format('%s|%s|%s|%s|%s|%s', p_source, p_target, p_mode, p_items::jsonb, p_purpose, p_granted_by), 'UTF8'));
    ids text[];
    n bigint;
begin
    perform parlor.lock_head(p_target);
    select * into known from parlor.grant where id = p_id;
    if found then
        if known.asked <> asked then
            raise exception 'there is a grant % already that says something else; a grant never changes, make another one', p_id
                using errcode = 'PLR00';
        end if;
        if not parlor.grant_is_live(p_id) then
            raise exception 'grant % has ended, and a grant does not begin again; make another one', p_id using errcode = 'PLR00';
        end if;
    else
        select * into source from parlor.stream where id = p_source;
        select * into target from parlor.stream where id = p_target;
        if source.id is null or target.id is null then
            raise exception 'there is no such stream' using errcode = 'PLR00';
        end if;
        if source.label_kind = 3 and target.label_kind = 0 then
            raise exception 'LabelForbidden: what operators said never goes to a public room' using errcode = 'PLR00';
        end if;
        insert into parlor.grant (id, source, target, mode, purpose, granted_by, made_ms, expires_ms, asked)
        values (p_id, p_source, p_target, p_mode, p_purpose, p_granted_by, parlor.now_ms(), p_expires_ms, asked);
        if p_items -> 'seqs' is not null then
            insert into parlor.grant_item (grant_id, stream, seq, digest)
            select p_id, p_source, i.seq, i.digest from parlor.item i
            where i.stream = p_source and i.kind in ('message', 'edit')
                and i.seq in (select v::bigint from json_array_elements_text(p_items -> 'seqs') v)
                and not exists (
                    select from parlor.item d where d.stream = p_source and d.platform_id = i.platform_id and d.kind = 'delete'
                )
            order by i.seq limit 257;
        else
            if p_items -> 'platform_ids' is not null then
                ids := array(select v from json_array_elements_text(p_items -> 'platform_ids') v limit 257);
            else
                ids := array(
                    select i.platform_id from parlor.item i
                    where i.stream = p_source and i.kind = 'message' and i.author = p_items ->> 'author'
                        and i.at_ms >= (p_items ->> 'from_ms')::bigint and i.at_ms < (p_items ->> 'to_ms')::bigint
                    order by i.seq limit 257);
            end if;
            insert into parlor.grant_item (grant_id, stream, seq, digest)
            select p_id, p_source, c.seq, c.digest from parlor.current_items(p_source, ids) c;
        end if;
        n := (select count(*) from parlor.grant_item where grant_id = p_id);
        if n = 0 then
            raise exception 'grant % names no message of its source that stands', p_id using errcode = 'PLR00';
        end if;
        if n > 256 then
            raise exception 'grant % names more than 256 messages; name fewer, or make several grants', p_id using errcode = 'PLR00';
        end if;
    end if;
    return (
        select json_build_object('count', count(*), 'digest', encode(sha256(string_agg(i.digest, '' order by i.seq)), 'hex'),
            'fresh', known.id is null)
        from parlor.grant_item i where i.grant_id = p_id
    );
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- Using a grant

-- The items of a grant whose bodies are still the granted bytes.
create function parlor.granted_items(p_id text) returns table (seq bigint, at_ms bigint, author text, author_kind text, trust smallint, name text, body text)
    language plpgsql stable
    set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    source bigint := (select g.source from parlor.grant g where g.id = p_id);
begin
    return query
    select i.seq, i.at_ms, i.author::text, i.author_kind::text, i.trust::smallint, b.name::text, b.body::text
    from parlor.grant_item g
    join parlor.item i on i.stream = source and i.seq = g.seq
    join parlor.item_body b on b.stream = source and b.seq = g.seq
    where g.grant_id = p_id and i.digest = g.digest and sha256(b.salt || convert_to(b.body, 'UTF8')) = g.digest
        and not exists (
            select from parlor.item d where d.stream = source and d.platform_id = i.platform_id and d.kind = 'delete'
        )
    order by i.seq;
end $$;

-- What the calling session may load of other streams now; each load is written down, and the grants with it. For the session that
-- calls, whoever that is: nothing here is a parameter.
create function parlor.load_granted() returns json
    language plpgsql security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    s parlor.session;
    live text[];
    answer json;
begin
    select * into s from parlor.session where role = session_user and valid;
    if not found or s.grants = '{}' then
        return '[]';
    end if;
    perform parlor.lock_head(s.stream);
    live := array(select i from unnest(s.grants) i where parlor.grant_is_live(i) order by i);
    insert into parlor.grant_use (grant_id, n, at_ms, kind, incarnation, items)
    select l, (select coalesce(max(u.n), 0) + 1 from parlor.grant_use u where u.grant_id = l), parlor.now_ms(), 'read', s.incarnation,
        (select count(*) from parlor.granted_items(l))
    from unnest(live) l;
    update parlor.session t set loaded = array(select distinct x from unnest(t.loaded || live) x order by x) where t.role = session_user;
    select json_agg(json_build_object('grant', g.id, 'purpose', g.purpose, 'from', parlor.label(f.label_kind, f.label_id), 'seq', i.seq,
        'at_ms', i.at_ms, 'author', i.author, 'name', i.name, 'text', i.body) order by g.id, i.seq)
    into answer
    from parlor.grant g join parlor.stream f on f.id = g.source cross join lateral parlor.granted_items(g.id) i
    where g.id = any (live);
    return coalesce(answer, '[]');
end $$;

create function api.read_granted(p_stream bigint, p_boot uuid) returns json
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.check_boot(p_stream, p_boot);
    return parlor.load_granted();
end $$;

-- Live Release grants of a room that were not used yet.
create function parlor.releases_due(p_stream bigint) returns text[]
    language plpgsql stable
    set plan_cache_mode = force_generic_plan
as $$
begin
    return array(
        select g.id from parlor.grant g
        where g.target = p_stream and g.mode = 'Release' and parlor.grant_is_live(g.id)
            and not exists (select from parlor.grant_use u where u.grant_id = g.id and u.kind = 'release')
        order by g.made_ms, g.id limit 16
    );
end $$;

-- Copies exactly the granted bytes into the calling session's own stream, once: as lines of the system that name who said them. The
-- number copied.
create function parlor.release_granted(p_id text) returns bigint
    language plpgsql security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    s parlor.session;
    g parlor.grant;
    i record;
    key text;
    salt bytea;
    next bigint;
    copied bigint := 0;
begin
    select * into s from parlor.session where role = session_user and valid;
    perform parlor.lock_head(s.stream);
    select * into g from parlor.grant where id = p_id and target = s.stream and mode = 'Release';
    if not found or not parlor.grant_is_live(p_id) then
        raise exception 'there is no live grant % that releases anything to this room', p_id using errcode = 'PLR00';
    end if;
    if exists (select from parlor.grant_use u where u.grant_id = p_id and u.kind = 'release') then
        return 0;
    end if;
    for i in select * from parlor.granted_items(p_id) loop
        copied := copied + 1;
        key := 'g:' || p_id || ':' || copied;
        salt := uuid_send(gen_random_uuid());
        update parlor.stream_head h set seq = h.seq + 1 where h.stream = s.stream returning h.seq into next;
        -- Nothing that a session causes has the trust of an owner or of a known person.
        insert into parlor.item (stream, seq, at_ms, author, author_kind, trust, kind, event_key, platform_id, digest, grant_id)
        values (s.stream, next, parlor.now_ms(), i.author, case i.author_kind when 'owner' then 'human' else i.author_kind end,
            greatest(i.trust, 2), 'system', key, key,
            sha256(salt || convert_to(i.body, 'UTF8')), p_id);
        insert into parlor.item_body (stream, seq, salt, name, body, mentions, attachments)
        values (s.stream, next, salt, i.name, i.body, '[]', '[]');
    end loop;
    insert into parlor.grant_use (grant_id, n, at_ms, kind, incarnation, items)
    select p_id, coalesce(max(u.n), 0) + 1, parlor.now_ms(), 'release', s.incarnation, copied from parlor.grant_use u where u.grant_id = p_id;
    return copied;
end $$;

create function api.release(p_stream bigint, p_boot uuid, p_grant text) returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.lock_head(p_stream);
    perform parlor.check_boot(p_stream, p_boot);
    return parlor.release_granted(p_grant);
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- The end of a grant

-- A machine that has read what it may not know any more forgets everything, and is built anew from the log.
create function parlor.forget_machine(p_stream bigint) returns void
    language plpgsql
as $$
begin
    delete from parlor.room_snapshot where stream = p_stream;
    delete from parlor.room_input where stream = p_stream;
end $$;

-- Takes back what a release copied: a copy is deleted in the room, and its bytes go.
create function parlor.unsay_copies(p_stream bigint, p_grant text) returns bigint
    language plpgsql
    set plan_cache_mode = force_custom_plan
as $$
declare
    i record;
    salt bytea;
    next bigint;
    k bigint := 0;
begin
    for i in select t.seq, t.author, t.author_kind, t.trust, t.platform_id from parlor.item t where t.stream = p_stream and t.grant_id = p_grant and t.kind = 'system' order by t.seq loop
        salt := uuid_send(gen_random_uuid());
        update parlor.stream_head h set seq = h.seq + 1 where h.stream = p_stream returning h.seq into next;
        insert into parlor.item (stream, seq, at_ms, author, author_kind, trust, kind, event_key, platform_id, digest, grant_id)
        values (p_stream, next, parlor.now_ms(), i.author, i.author_kind, i.trust, 'delete', 'd:' || i.platform_id, i.platform_id,
            sha256(salt || ''::bytea), p_grant);
        insert into parlor.item_body (stream, seq, salt, name, body, mentions, attachments) values (p_stream, next, salt, '', '', '[]', '[]');
        update parlor.item_body b set salt = '', name = '', body = '' where b.stream = p_stream and b.seq = i.seq;
        delete from parlor.item_words w where w.stream = p_stream and w.seq = i.seq;
        k := k + 1;
    end loop;
    return k;
end $$;

-- Ends a grant: from this commit on nothing is loaded by it, no row of its lineage leaves, the sessions that could load it are
-- invalid, and what was derived from it is hidden. Ending it again changes nothing. Whether the room's login has to be replaced.
create function api.close_grant(p_id text, p_why text, p_requested_ms bigint) returns boolean
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    g parlor.grant;
    r bigint;
    refused bigint := 0;
    hidden bigint;
    tainted boolean;
begin
    select * into g from parlor.grant where id = p_id;
    if not found then
        raise exception 'there is no grant %', p_id using errcode = 'PLR00';
    end if;
    perform parlor.lock_head(g.target);
    if exists (select from parlor.revocation v where v.grant_id = p_id) then
        return false;
    end if;
    for r in
        select o.n from parlor.outbox o where o.stream = g.target and o.state = 'queued' and p_id = any (o.grants) order by o.n
    loop
        perform parlor.end_row(g.target, r, 'refused', 'revoked');
        refused := refused + 1;
    end loop;
    hidden := parlor.unsay_copies(g.target, p_id) + (select count(*) from parlor.note a where a.stream = g.target and p_id = any (a.grants));
    tainted := exists (select from parlor.grant_use u where u.grant_id = p_id);
    if tainted then
        perform parlor.forget_machine(g.target);
    end if;
    update parlor.session s set valid = false where s.stream = g.target and (p_id = any (s.grants) or tainted);
    insert into parlor.revocation (grant_id, why, requested_ms, rows_invisible_ms, rows_refused, derived_hidden)
    values (p_id, p_why, p_requested_ms, parlor.now_ms(), refused, hidden);
    return tainted or exists (select from parlor.session s where s.stream = g.target and p_id = any (s.grants));
end $$;

-- What came after the end: null leaves a time as it is.
create function api.grant_ended(p_id text, p_sessions_ended_ms bigint, p_incarnation_replaced_ms bigint) returns void
    language sql
    set search_path = pg_catalog, pg_temp
begin atomic
    update parlor.revocation
    set sessions_ended_ms = coalesce(sessions_ended_ms, p_sessions_ended_ms),
        incarnation_replaced_ms = coalesce(incarnation_replaced_ms, p_incarnation_replaced_ms)
    where grant_id = p_id;
end;

-- Open grants that should not be: those of no live resource, and those whose time is over.
create function api.grants_to_close(p_live text[]) returns table (id text, target bigint, why text)
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select g.id, g.target, case when g.expires_ms <= parlor.now_ms() then 'expired' else 'revoked' end
    from parlor.grant g
    where not exists (select from parlor.revocation r where r.grant_id = g.id)
        and (g.expires_ms <= parlor.now_ms() or not g.id = any (p_live))
    order by g.id;
end $$;

-- What an operator sees of grants: with an id also the exact text.
create function api.read_grants(p_id text) returns json
    language plpgsql stable
    set search_path = pg_catalog, pg_temp
as $$
declare
    answer json;
begin
    select json_agg(json_build_object('id', g.id, 'source', s.room, 'from', parlor.label(s.label_kind, s.label_id), 'target', t.room,
        'mode', g.mode, 'purpose', g.purpose, 'granted_by', g.granted_by, 'made_ms', g.made_ms, 'expires_ms', g.expires_ms,
        'live', parlor.grant_is_live(g.id), 'count', (select count(*) from parlor.grant_item i where i.grant_id = g.id),
        'uses', (
            select coalesce(json_agg(json_build_object('at_ms', u.at_ms, 'kind', u.kind, 'incarnation', u.incarnation, 'items', u.items)
                order by u.n), '[]')
            from (select * from parlor.grant_use w where w.grant_id = g.id order by w.n desc limit 100) u
        ),
        'revocation', (
            select json_build_object('why', r.why, 'requested_ms', r.requested_ms, 'rows_invisible_ms', r.rows_invisible_ms,
                'rows_refused', r.rows_refused, 'derived_hidden', r.derived_hidden, 'sessions_ended_ms', r.sessions_ended_ms,
                'incarnation_replaced_ms', r.incarnation_replaced_ms)
            from parlor.revocation r where r.grant_id = g.id
        ),
        'items', case when p_id is not null then (
            select coalesce(json_agg(json_build_object('seq', i.seq, 'at_ms', i.at_ms, 'author', i.author, 'name', i.name, 'text', i.body)
                order by i.seq), '[]')
            from parlor.granted_items(g.id) i
        ) end) order by g.made_ms, g.id)
    into answer
    from parlor.grant g join parlor.stream s on s.id = g.source join parlor.stream t on t.id = g.target
    where p_id is null or g.id = p_id;
    return coalesce(answer, '[]');
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- Lineage on what a session writes, and what it does at the end

alter table parlor.job add column grants text[] not null default '{}';

create or replace function parlor.submit(p_stream bigint, p_row json) returns json
    language plpgsql
as $$
declare
    r parlor.outbox;
    p parlor.policy;
    hush text;
    fate text := 'queued';
    why text;
    lineage text[] := parlor.lineage();
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
    elsif parlor.ended_grants(lineage) <> '{}' then
        fate := 'refused';
        why := 'revoked';
    elsif p.mode <> 'Active' or (p_row ->> 'shadow')::boolean then
        fate := 'shadow';
    end if;
    update parlor.stream_head set outbox_n = outbox_n + 1 where stream = p_stream returning outbox_n into r.n;
    -- A session writes with the label of its own stream, whatever it has read.
    insert into parlor.outbox (stream, n, dedupe, persona, label, dest_label, kind, unprompted, reply_to, reply_shows, emoji, body,
        obligations, created_ms, expires_ms, state, grants)
    select p_stream, r.n, p_row ->> 'dedupe', p_row ->> 'persona', parlor.label(s.label_kind, s.label_id),
        parlor.label_of_dest(p_stream, 'surface'), p_row ->> 'kind', (p_row ->> 'unprompted')::boolean, p_row ->> 'reply_to',
        (p_row ->> 'reply_shows')::boolean, p_row ->> 'emoji', p_row ->> 'body', (p_row -> 'obligations')::jsonb, parlor.now_ms(),
        (p_row ->> 'expires_ms')::bigint, fate, lineage
    from parlor.stream s where s.id = p_stream;
    if fate <> 'queued' then
        perform parlor.end_row(p_stream, r.n, fate, why);
    end if;
    return json_build_object('dedupe', p_row ->> 'dedupe', 'n', r.n, 'state', fate, 'found', false);
end $$;

create or replace function parlor.take_row(p_stream bigint, p_lease_ms bigint) returns parlor.outbox
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
        elsif not parlor.flows(r.label, parlor.label_of_dest(p_stream, r.dest)) is true then
            perform parlor.end_row(p_stream, r.n, 'refused', 'label');
        elsif parlor.ended_grants(r.grants) <> '{}' then
            -- What a gateway had taken up may be out.
            perform parlor.end_row(p_stream, r.n, case r.state when 'claimed' then 'parked' else 'refused' end, 'revoked');
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

create or replace function api.step(
    p_stream bigint, p_boot uuid, p_n bigint[], p_now_ms bigint[], p_input text[], p_writes json, p_snap_n bigint[],
    p_snap_format integer[], p_snap_state bytea[], p_epoch bigint, p_seq bigint, p_outcome_n bigint, p_policy bigint, p_view json
) returns json
    language plpgsql
    security definer
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
        insert into parlor.decision (stream, n, input_n, at_ms, what, why, persona, obligations, effect, cursor, lines, odds, grants)
        select p_stream, m.n + row_number() over (order by w.n, d.i), w.n, w.at_ms, d.what, d.why, d.persona,
            array(select json_array_elements_text(d.obligations)), d.effect, d.cursor,
            array(select l::bigint from json_array_elements_text(d.lines) l),
            d.odds, parlor.lineage()
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

create or replace function parlor.decision_json(d parlor.decision) returns json
    language sql stable
return json_build_object('n', d.n, 'input_n', d.input_n, 'at_ms', d.at_ms, 'what', d.what, 'why', d.why, 'persona', d.persona,
    'obligations', d.obligations, 'effect', d.effect, 'cursor', d.cursor, 'lines', d.lines, 'odds', d.odds, 'grants', d.grants);

create or replace function api.note(p_stream bigint, p_boot uuid, p_person text, p_topic text, p_body text, p_supersedes bigint) returns bigint
    language plpgsql
    security definer
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
    insert into parlor.note (stream, n, person_id, topic, body, at_ms, supersedes, grants)
    select p_stream, coalesce(max(n), 0) + 1, p_person, p_topic, p_body, parlor.now_ms(), p_supersedes, parlor.lineage()
    from parlor.note where stream = p_stream
    returning n into r;
    return r;
end $$;

-- What was noted from a grant that has ended is not there.
create or replace function api.notes(p_stream bigint, p_boot uuid, p_people text[], p_limit bigint) returns json
    language plpgsql stable
    security definer
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
            and parlor.ended_grants(a.grants) = '{}'
        order by a.n desc limit p_limit
    ) l;
    return coalesce(answer, '[]');
end $$;

create or replace function api.remind(
    p_stream bigint, p_boot uuid, p_dedupe text, p_due_ms bigint, p_expires_ms bigint, p_persona text, p_body text
) returns bigint
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    r bigint;
begin
    perform parlor.lock_head(p_stream);
    perform parlor.check_boot(p_stream, p_boot);
    r := parlor.put_job(p_stream, p_dedupe, p_due_ms, p_expires_ms, p_persona, p_body);
    update parlor.job j set grants = parlor.lineage() where j.stream = p_stream and j.n = r and j.grants <> parlor.lineage();
    return r;
end $$;

create or replace function api.job_claim(p_stream bigint, p_boot uuid, p_limit bigint) returns json
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    t bigint := parlor.now_ms();
    answer json;
begin
    perform parlor.lock_head(p_stream);
    perform parlor.check_boot(p_stream, p_boot);
    update parlor.job set state = 'expired' where stream = p_stream and state = 'open' and lease_until_ms <= t
        and (expires_ms <= t or parlor.ended_grants(grants) <> '{}');
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

create or replace function api.read_after(
    p_stream bigint, p_boot uuid, p_epoch bigint, p_seq bigint, p_outcome_n bigint, p_policy bigint, p_limit bigint
) returns json
    language plpgsql stable
    security definer
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
        'releases', parlor.releases_due(p_stream),
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

create or replace function parlor.put_session(p_role text, p_stream bigint, p_readable bigint[], out incarnation integer, out former text[])
    language plpgsql security definer
    set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform parlor.lock_head(p_stream);
    if exists (
        select from unnest(p_readable) r(id) left join parlor.stream s on s.id = r.id
        where r.id <> p_stream and (s.id is null or s.label_kind <> 0)
    ) then
        raise exception 'besides its own stream a session may load public ones only' using errcode = 'PLR00';
    end if;
    update parlor.session s set valid = false where s.stream = p_stream and s.valid;
    former := array(select s.role::text from parlor.session s where s.stream = p_stream);
    incarnation := (select coalesce(max(s.incarnation), 0) + 1 from parlor.session s where s.stream = p_stream);
    delete from parlor.session s where s.stream = p_stream and s.incarnation < incarnation - 1;
    insert into parlor.session (role, stream, incarnation, readable, grants)
    values (p_role, p_stream, incarnation, p_stream || p_readable, array(
        select g.id from parlor.grant g where g.target = p_stream and g.mode = 'Read' and parlor.grant_is_live(g.id) order by g.id));
end $$;

-- ---------------------------------------------------------------------------------------------------------------------------------
-- Owners and rights

do $$
declare
    t text;
    f record;
begin
    foreach t in array array['grant', 'grant_item', 'grant_use', 'revocation'] loop
        execute format('alter table parlor.%I owner to parlor_owner', t);
        execute format('alter table parlor.%I enable row level security', t);
        execute format('alter table parlor.%I force row level security', t);
        execute format('grant select, insert on parlor.%I to parlor_service', t);
        -- Grants come and go by the controller's hand alone.
        if t in ('grant', 'grant_item', 'revocation') then
            execute format('create policy service on parlor.%I to parlor_service using (true) with check (session_user = ''parlor_controller'')', t);
        else
            execute format('create policy service on parlor.%I to parlor_service using (true) with check (by_role = session_user)', t);
        end if;
    end loop;
    for f in
        select p.oid::regprocedure as name, p.proname, n.nspname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname in ('api', 'parlor') and p.proname in ('grant_is_live', 'ended_grants', 'lineage', 'current_items', 'granted_items',
            'load_granted', 'releases_due', 'release_granted', 'forget_machine', 'unsay_copies', 'apply_grant', 'read_granted', 'release',
            'close_grant', 'grant_ended', 'grants_to_close', 'read_grants')
    loop
        if f.nspname = 'api' then
            execute format('alter function %s security definer', f.name);
            execute format('alter function %s owner to %I', f.name,
                case when f.proname in ('read_granted', 'release') then 'parlor_api' else 'parlor_service' end);
        else
            execute format('alter function %s owner to %I', f.name,
                case when f.proname in ('load_granted', 'release_granted') then 'parlor_service' else 'parlor_owner' end);
        end if;
        execute format('revoke all on function %s from public', f.name);
        if f.nspname = 'parlor' then
            execute format('grant execute on function %s to parlor_service', f.name);
            if f.proname in ('grant_is_live', 'ended_grants', 'lineage', 'releases_due', 'load_granted', 'release_granted') then
                execute format('grant execute on function %s to parlor_api', f.name);
            end if;
        end if;
    end loop;
end $$;

grant update on parlor.revocation to parlor_service;
select parlor.make_append_only('parlor.grant');
select parlor.make_append_only('parlor.grant_item');
select parlor.make_append_only('parlor.grant_use');

grant execute on function api.read_granted(bigint, uuid), api.release(bigint, uuid, text) to parlor_owner with grant option;
grant execute on function
    api.apply_grant(text, bigint, bigint, text, json, text, text, bigint), api.close_grant(text, text, bigint),
    api.grant_ended(text, bigint, bigint), api.grants_to_close(text[]), api.read_grants(text) to parlor_controller;
grant execute on function api.read_grants(text) to parlor_console;

-- Of grants a session sees those to its own room.
grant select on parlor.grant, parlor.grant_use, parlor.revocation to parlor_api;
create policy session on parlor.grant for select to parlor_api
    using (target = (select s.stream from parlor.session s where s.role = session_user and s.valid));
create policy session on parlor.grant_use for select to parlor_api using (grant_id in (select g.id from parlor.grant g));
create policy session on parlor.revocation for select to parlor_api using (grant_id in (select g.id from parlor.grant g));
-- A reminder carries its lineage.
grant update (grants) on parlor.job to parlor_api;
