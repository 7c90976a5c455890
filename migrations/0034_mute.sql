-- Why a room is silent, for those who ask: each mute with who, since when, until when and what for. And a policy that makes no sense
-- silences as one that is not there does.

-- Since when the policy has muted the room; null while it does not.
alter table parlor.policy add column muted_ms bigint;
-- A reason has as many characters as one in a Room has, whatever script they are of.
alter table parlor.chat_mute drop constraint chat_mute_reason_check, add constraint chat_mute_reason_check check (octet_length(reason) <= 2000);

-- Whether a policy says what it says in words that this schema knows. What it leaves out has a default. A word of a newer controller
-- is no default: nobody here knows what it forbids.
create function parlor.policy_reads(p_mode text, p_value jsonb) returns boolean
    language sql immutable
return p_mode in ('Shadow', 'Active')
    and jsonb_typeof(p_value) = 'object'
    and coalesce(jsonb_typeof(p_value -> 'members') = 'array', true)
    and coalesce(p_value ->> 'audience' in ('Public', 'Room', 'Direct', 'Operator'), true)
    and coalesce(p_value ->> 'gate' in ('Rules', 'Embedded', 'Model'), true)
    and coalesce(p_value ->> 'fail_mode' in ('Silent', 'KeepLast'), true);

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
    if exists (select from parlor.policy p where p.stream = p_stream and not parlor.policy_reads(p.mode, p.value)) then
        return 'muted';
    end if;
    if p_stopped then
        return 'stopped';
    end if;
    return case when not parlor.led(p_stream) then 'no_controller' end;
end $$;

create or replace function api.set_policy(p_stream bigint, p_muted boolean, p_mode text, p_stopped boolean, p_value jsonb) returns bigint
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    old parlor.policy;
    -- The revision is given here; one inside the value is no change.
    h bytea := sha256(convert_to(format('%s|%s|%s|%s', p_muted, p_mode, p_stopped, p_value - 'revision'), 'UTF8'));
    since bigint := case when p_muted then parlor.now_ms() end;
    withheld text;
begin
    select * into old from parlor.policy where stream = p_stream for update;
    if not found then
        perform parlor.lock_head(p_stream);
        insert into parlor.policy (stream, revision, hash, muted, mode, stopped, value, muted_ms)
        values (p_stream, 1, h, p_muted, p_mode, p_stopped, p_value, since);
        return 1;
    end if;
    -- A row that somebody has changed by hand is written again.
    if old.hash = h and (old.muted, old.mode, old.stopped) = (p_muted, p_mode, p_stopped)
        and (case when jsonb_typeof(old.value) = 'object' then old.value - 'revision' = p_value - 'revision' end) then
        return old.revision;
    end if;
    update parlor.policy
    set revision = revision + 1, hash = h, muted = p_muted, mode = p_mode, stopped = p_stopped, value = p_value,
        muted_ms = case when p_muted then coalesce(old.muted_ms, since) end
    where stream = p_stream;
    withheld := case when p_muted then 'muted' when p_stopped then 'stopped' when p_mode <> 'Active' then 'shadow' end;
    if withheld is not null then
        perform parlor.refuse_waiting(p_stream, withheld);
    end if;
    return old.revision + 1;
end $$;

-- {"why": null, muted, stopped, no_controller, no_policy or unreadable_policy; "mutes": those that hold now, the policy's own first}.
-- Beyond 16 mutes the newest are given: a room is not more silent by more of them.
create function api.read_hush(p_stream bigint) returns json
    language plpgsql stable
    security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    p parlor.policy;
    hush text;
    mutes json;
begin
    select * into p from parlor.policy where stream = p_stream;
    hush := parlor.hushed(p_stream, p.muted, p.stopped);
    select json_agg(m.mute order by m.of_policy desc, m.at_ms) into mutes
    from (
        select true as of_policy, p.muted_ms as at_ms, json_build_object('of_policy', true, 'by', p.value -> 'mute' ->> 'by',
            'reason', coalesce(p.value -> 'mute' ->> 'reason', ''), 'since_ms', p.muted_ms,
            'until_ms', p.value -> 'mute' -> 'until_ms') as mute
        where p.muted
        union all
        (select false, c.at_ms, json_build_object('of_policy', false, 'by', c.by, 'reason', c.reason, 'since_ms', c.at_ms,
            'until_ms', c.until_ms)
        from parlor.chat_mute c
        where c.stream = p_stream and (c.until_ms is null or c.until_ms > parlor.now_ms()) order by c.n desc limit 16)
    ) m;
    return json_build_object(
        'why', case
            when p.stream is null then 'no_policy'
            when not parlor.policy_reads(p.mode, p.value) then 'unreadable_policy'
            else hush
        end,
        'mutes', coalesce(mutes, '[]'));
end $$;

alter function parlor.policy_reads(text, jsonb) owner to parlor_owner;
alter function api.read_hush(bigint) owner to parlor_service;
revoke all on function parlor.policy_reads(text, jsonb), api.read_hush(bigint) from public;
grant execute on function parlor.policy_reads(text, jsonb) to parlor_service, parlor_api;
grant execute on function api.read_hush(bigint) to parlor_console, parlor_controller;
