// The bindings of a wrangler.toml, as Miniflare runs them.

import type { MiniflareOptions } from 'miniflare';

import type { Config } from './wrangler-config.ts';

/** The bindings of a Worker, by name. */
export type Env = NonNullable<NonNullable<MiniflareOptions['workers'][number]['config']>['env']>;
type Json = Extract<Env[string], { type: 'json' }>['value'];

/** Vars and secrets: text, or JSON values. */
export type Vars = Record<string, unknown>;

/** Returns the bindings of a Worker, except Durable Objects and vars. */
export function bindingsOf(config: Config, bucket: Pick<BucketBinding, 'dev'> = {}): Env {
  const env: Env = {};
  for (const { binding, bucket_name } of config.r2_buckets)
    env[binding] = { type: 'r2', name: bucket_name ?? binding, ...bucket };
  for (const { binding, id } of config.kv_namespaces) env[binding] = { type: 'kv', id: id ?? binding };
  for (const { binding, database_id, database_name } of config.d1_databases)
    env[binding] = { type: 'd1', id: database_id ?? database_name ?? binding };
  for (const { binding, queue } of config.queues.producers ?? [])
    env[binding] = { type: 'queue', name: queue };
  for (const { binding, dataset } of config.analytics_engine_datasets)
    env[binding] = { type: 'analytics-engine-dataset', name: dataset ?? binding };
  for (const { binding, service, entrypoint } of config.services ?? [])
    env[binding] = { type: 'worker', worker: service, ...(entrypoint && { exportName: entrypoint }) };
  if (config.version_metadata) env[config.version_metadata.binding] = { type: 'version-metadata' };
  return env;
}

type BucketBinding = Extract<Env[string], { type: 'r2' }>;

/** Returns vars and secrets as bindings. */
export function varBindings(vars: Vars): Env {
  return Object.fromEntries(
    Object.entries(vars).map(([name, value]) => [
      name,
      typeof value === 'string' ? { type: 'text', value } : { type: 'json', value: value as Json },
    ]),
  );
}

/** Returns the vars of a Worker, with those of `.dev.vars` or `.env` in its folder, as `wrangler dev` has them. */
export async function developmentVars(config: Config): Promise<Vars> {
  const { unstable_getVarsForDev } = await import('wrangler');
  const vars = unstable_getVarsForDev(
    config.configPath,
    undefined,
    config.vars,
    undefined,
    true,
    config.secrets,
  );
  return Object.fromEntries(Object.entries(vars).map(([name, { value }]) => [name, value]));
}

/** The kinds of bindings, and other parts of a wrangler.toml, that do not run here. */
const LEFT_OUT = [
  ...['ai', 'ai_search', 'assets', 'browser', 'dispatch_namespaces', 'hyperdrive', 'images', 'media'],
  ...['mtls_certificates', 'pipelines', 'secrets_store_secrets', 'send_email', 'stream', 'vectorize'],
  ...['vpc_services', 'worker_loaders', 'workflows'],
] as const;

/** Returns the kinds of bindings in a wrangler.toml that do not run here. */
export function leftOut(config: Config): string[] {
  const values = config as unknown as Record<string, unknown>;
  const kinds: string[] = LEFT_OUT.filter((kind) => !isEmpty(values[kind]));
  return config.queues.consumers?.length ? [...kinds, 'queues.consumers'] : kinds;
}

/** Returns what the wrangler.toml of an application lacks: to call the snapshotter, and for a class of sandboxes of its own. */
export function missingIn(config: Config): string[] {
  const hasContainers = (config.containers ?? []).length > 0;
  const exportsSandbox = config.migrations.some(({ new_sqlite_classes = [] }) =>
    new_sqlite_classes.includes('Sandbox'),
  );
  const missing: [boolean, string][] = [
    [
      !config.services?.some(({ service }) => service === 'sandbox-snapshotter'),
      '[[services]] with service = "sandbox-snapshotter": it cannot call the snapshotter',
    ],
    [exportsSandbox && !hasContainers, '[[containers]] for its class Sandbox: its sandboxes do not run'],
    [
      hasContainers && !config.r2_buckets.some(({ binding }) => binding === 'BACKUP_BUCKET'),
      'R2 binding BACKUP_BUCKET: its sandboxes cannot store snapshots',
    ],
  ];
  return missing.flatMap(([isMissing, text]) => (isMissing ? [text] : []));
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value === 'object' && value !== null)
    return Object.values(value).every((member) => isEmpty(member));
  return value === undefined || value === null;
}
