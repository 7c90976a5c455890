-- The broker's books. A reservation counts in full from the start, and less only once less was charged.

-- The number of the reservation; 0 when it would pass a cap; -1 while the room may not say anything.
create function api.reserve(
    p_stream bigint, p_day date, p_tokens bigint, p_cost_micro bigint, p_cap_tokens bigint, p_cap_cost_micro bigint
) returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    p parlor.policy;
    b parlor.budget;
    r bigint;
begin
    if p_tokens < 0 or p_cost_micro < 0 then
        raise exception 'a reservation cannot be negative' using errcode = 'PLR00';
    end if;
    select * into p from parlor.policy where stream = p_stream for share;
    if parlor.hushed(p_stream, p.muted, p.stopped) is not null then
        return -1;
    end if;
    insert into parlor.budget (stream, day) values (p_stream, p_day) on conflict do nothing;
    -- Every reservation and charge of a room's day goes one after the other from here.
    select * into b from parlor.budget where stream = p_stream and day = p_day for update;
    if b.tokens + p_tokens > p_cap_tokens or b.cost_micro + p_cost_micro > p_cap_cost_micro then
        return 0;
    end if;
    update parlor.budget set tokens = tokens + p_tokens, cost_micro = cost_micro + p_cost_micro where stream = p_stream and day = p_day;
    -- A number that another day's reservation took meanwhile fails, and the caller tries again.
    insert into parlor.reservation (stream, n, day, tokens, cost_micro)
    select p_stream, coalesce(max(n), 0) + 1, p_day, p_tokens, p_cost_micro from parlor.reservation where stream = p_stream
    returning n into r;
    -- The newest stays, so that numbers go on.
    delete from parlor.reservation where stream = p_stream and n < r - 256 and day < p_day - 1;
    return r;
end $$;

create function api.charge(p_stream bigint, p_n bigint, p_tokens bigint, p_cost_micro bigint) returns boolean
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    r parlor.reservation;
begin
    if p_tokens < 0 or p_cost_micro < 0 then
        raise exception 'a charge cannot be negative' using errcode = 'PLR00';
    end if;
    update parlor.reservation set charged = true where stream = p_stream and n = p_n and not charged returning * into r;
    if not found then
        return false;
    end if;
    update parlor.budget set tokens = tokens - r.tokens + p_tokens, cost_micro = cost_micro - r.cost_micro + p_cost_micro
    where stream = p_stream and day = r.day;
    return true;
end $$;

create function api.audit(
    p_stream bigint, p_persona text, p_purpose text, p_model text, p_tokens bigint, p_cost_micro bigint, p_duration_ms bigint, p_outcome text
) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform parlor.lock_head(p_stream);
    insert into parlor.audit (stream, n, at_ms, persona, purpose, model, tokens, cost_micro, duration_ms, outcome)
    select p_stream, coalesce(max(n), 0) + 1, parlor.now_ms(), p_persona, p_purpose, p_model, p_tokens, p_cost_micro, p_duration_ms, p_outcome
    from parlor.audit where stream = p_stream;
end $$;
