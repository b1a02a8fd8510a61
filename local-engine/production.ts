/**
 * The Miniflare options of production mode, in which archives travel by signed URLs to the endpoint of s3.ts: for the
 * Worker that exports `Sandbox`, for the buckets, and for the network.
 */
import type { MiniflareOptions } from 'miniflare';
import type { Credentials, S3 } from './s3.ts';

type Worker = MiniflareOptions['workers'][number];

/** The credentials that sign transfers. For `dev.experimentalS3Credentials` of the bucket's bindings. */
export const CREDENTIALS: Credentials = {
  accessKeyId: 'local',
  secretAccessKey: 'a secret for this machine',
};

/** Returns the vars and secrets with which the class `Sandbox` signs its transfers to a bucket. */
export function signing(s3: S3, bucket: string): Record<string, string> {
  return {
    BACKUP_BUCKET_ENDPOINT: s3.origin,
    BACKUP_BUCKET_NAME: bucket,
    CLOUDFLARE_ACCOUNT_ID: 'local',
    R2_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    R2_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  };
}

const NETWORK = 'network';

/** For `dev` of the Workers that export `Sandbox`: routes their requests through {@link network}. */
export const THROUGH_NETWORK = { outboundService: { type: 'worker' as const, worker: NETWORK } };

/** Returns a Worker that passes requests on to the network and trusts the endpoint's certificate. Add it to the Workers. */
export function network({ certificate }: S3): Worker {
  const contents = 'export default { fetch: (request, env) => env.network.fetch(request) };';
  const tlsOptions = { trustBrowserCas: true, trustedCertificates: [certificate] };
  return {
    config: {
      name: NETWORK,
      compatibilityDate: '2026-06-01',
      manifest: { mainModule: 'worker.mjs', modules: { 'worker.mjs': { type: 'esm', contents } } },
      env: { network: { type: 'network', allow: ['public', 'private'], tlsOptions } },
    },
  };
}
