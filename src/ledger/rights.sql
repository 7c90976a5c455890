-- What belongs to the cluster and to the database rather than to the schema. The installer's login runs this at each `parlor migrate`;
-- it changes only what is not as it should be, so that it may run at any time and beside another one.

-- Nobody enters a database of the cluster uninvited, or makes temporary tables in it.
do $$
declare
    d record;
begin
    for d in
        select datname from pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba))) a
        where a.grantee = 0 and datallowconn group by datname order by datname
    loop
        execute format('revoke all on database %I from public', d.datname);
    end loop;
end $$;

-- The roles are as they should be, whoever made them.
do $$
declare
    r record;
begin
    for r in
        select rolname, rolname in ('parlor_ingest', 'parlor_gateway', 'parlor_controller', 'parlor_broker', 'parlor_console') as login,
            rolname = 'parlor_minter' as minter, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls
        from pg_roles
        where rolname in ('parlor_owner', 'parlor_service', 'parlor_api', 'parlor_minter', 'parlor_ingest', 'parlor_gateway',
            'parlor_controller', 'parlor_broker', 'parlor_console')
    loop
        -- The minter inherits, to end the connections of a login that it ends.
        if (r.rolsuper, r.rolcreatedb, r.rolreplication, r.rolbypassrls) <> (false, false, false, false)
            or (r.rolcreaterole, r.rolcanlogin, r.rolinherit) <> (r.minter, r.login, r.minter) then
            execute format('alter role %I nosuperuser nocreatedb noreplication nobypassrls %s %s %s', r.rolname,
                case when r.minter then 'createrole' else 'nocreaterole' end, case when r.login then 'login' else 'nologin' end,
                case when r.minter then 'inherit' else 'noinherit' end);
        end if;
    end loop;
    if not pg_has_role('parlor_minter', 'pg_signal_backend', 'member') then
        grant pg_signal_backend to parlor_minter;
    end if;
end $$;

do $$
declare
    login text;
begin
    foreach login in array array['parlor_ingest', 'parlor_gateway', 'parlor_controller', 'parlor_broker', 'parlor_console'] loop
        if not has_database_privilege(login, current_database(), 'connect') then
            execute format('grant connect on database %I to %I', current_database(), login);
        end if;
    end loop;
    if not has_database_privilege('parlor_owner', current_database(), 'connect with grant option') then
        execute format('grant connect on database %I to parlor_owner with grant option', current_database());
    end if;
end $$;

revoke all on schema public from public;
grant usage on schema public to parlor_service;
grant select on public._sqlx_migrations to parlor_service;

-- The catalogue tells who else is here: rooms, logins, texts of functions and statements, sizes, counters. What drivers read of types
-- stays open.
do $$
declare
    o record;
begin
    for o in
        select c.oid::regclass as name, c.relname from pg_class c, aclexplode(c.relacl) a
        where c.relnamespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) and c.relkind in ('r', 'v', 'm')
            and a.grantee = 0 and c.relname not in ('pg_type', 'pg_namespace', 'pg_range', 'pg_enum', 'pg_timezone_names')
        group by c.oid, c.relname
    loop
        execute format('revoke all on %s from public', o.name);
    end loop;
    for o in
        select c.oid::regclass as name, string_agg(distinct quote_ident(t.attname), ', ') as columns
        from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
        where c.relnamespace = 'pg_catalog'::regnamespace and a.grantee = 0
        group by c.oid
    loop
        execute format('revoke all (%s) on %s from public', o.columns, o.name);
    end loop;
    for o in
        select p.oid::regprocedure as name from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace
            and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
            and (p.proname ~ '^(lo_|loread$|lowrite$|pg_advisory_|pg_try_advisory_|pg_stat_get_|pg_stat_reset|pg_current_wal|pg_last_wal|pg_wal_|pg_is_wal|pg_walfile|txid_|pg_current_xact|pg_current_snapshot|pg_snapshot_|pg_xact_|pg_visible_in|pg_get_|pg_ls_|pg_show_|pg_lock|pg_blocking|pg_safe_snapshot|pg_notif|pg_notify|pg_listening|pg_prepared|pg_cursor|pg_available|pg_control_|pg_export_|pg_replication|pg_create_|pg_drop_|pg_logical|pg_terminate|pg_cancel|pg_log_backend|pg_postmaster|pg_conf_load|pg_backup|pg_hba|pg_ident|pg_config$|pg_mcv_|pg_trigger_depth$|pg_tablespace|pg_relation_file|pg_filenode|pg_indexam|pg_index|pg_sequence|pg_event_trigger|pg_extension|pg_describe|pg_identify|pg_partition|obj_description|col_description|shobj_description|row_security_active)'
                or p.proname ~ '_size$' or p.proname ~ '^(query|cursor|table|schema|database)_to_xml')
    loop
        execute format('revoke all on function %s from public', o.name);
    end loop;
end $$;

-- What our own functions read of it.
grant select on pg_catalog.pg_proc to parlor_owner;
grant select on pg_catalog.pg_roles, pg_catalog.pg_stat_activity to parlor_minter;
grant execute on function pg_catalog.pg_advisory_xact_lock(bigint), pg_catalog.pg_terminate_backend(integer, bigint),
    pg_catalog.pg_stat_get_activity(integer) to parlor_minter;
