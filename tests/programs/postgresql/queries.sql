select split_part(version(), ' ', 2);
create table t (i integer primary key, s text, x double precision);
insert into t select n, 'row ' || n, n / 7.0 from generate_series(1, 20000) n;
create index on t (s);
analyze t;
select count(*), sum(i), round(sum(x)::numeric, 3) from t;
explain (costs off) select i from t where s = 'row 777';
select i, s from t where s = 'row 777';
begin;
delete from t where i % 3 = 0;
select count(*) from t;
rollback;
select count(*) from t;
-- a sort and a join that do not fit into memory, and so use files
set work_mem = '64kB';
select md5(string_agg(s, ',' order by md5(s))) from t;
select count(*) from t a join t b on a.i = b.i + 1;
reset work_mem;
-- processes that share memory which they make for the query
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set max_parallel_workers_per_gather = 2;
explain (costs off) select count(*) from t where x > 100;
select count(*) from t where x > 100;
reset all;
-- a language that is loaded as a library
create function fib(n integer) returns bigint language plpgsql as $$
declare a bigint := 0; b bigint := 1;
begin
    for k in 1..n loop
        select b, a + b into a, b;
    end loop;
    return a;
end $$;
select fib(10), fib(80);
select fib('x');
-- timers, signals between servers, locks
set statement_timeout = 100;
select pg_sleep(20);
reset statement_timeout;
select pg_backend_pid() = any (select pid from pg_stat_activity), pg_postmaster_start_time() < now();
select pg_reload_conf();
select pg_advisory_lock(1), pg_try_advisory_lock(1);
-- time zones, text, numbers
select timestamptz '2001-09-09 01:46:40+00' at time zone 'America/New_York';
select to_char(timestamp '2020-02-29 13:14:15', 'Dy DD Mon YYYY HH12:MI:SS'), 2::numeric ^ 100, sqrt(2.0);
select to_tsvector('english', 'The quick foxes jumped') @@ to_tsquery('fox & jump');
copy (select i, s from t order by i limit 3) to stdout;
create table kept (i integer);
create table bad (i integer check (i > 0));
insert into bad values (1), (0);
drop table nothing;
vacuum analyze t;
checkpoint;
select relname, relpages > 0 from pg_class where relname in ('t', 't_pkey', 't_s_idx') order by 1;
