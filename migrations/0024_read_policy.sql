-- What a room is allowed to do, for those who only read. Null where no policy was written yet.

create function api.read_policy(p_stream bigint) returns json
    language sql stable
    set search_path = pg_catalog, pg_temp
return (
    select json_build_object('muted', p.muted, 'mode', p.mode, 'stopped', p.stopped, 'value', p.value)
    from parlor.policy p where p.stream = p_stream
);
