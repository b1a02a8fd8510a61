/**
 * Production mode in Miniflare's terms: what the Worker that exports `Sandbox`, the buckets and the network need so that
 * archives travel by signed URLs to the endpoint of s3.ts.
 */
import type { MiniflareOptions } from 'miniflare';
import type { Credentials, S3 } from './s3.ts';

type Worker = MiniflareOptions['workers'][number];

/** What transfers are signed with. For `dev.experimentalS3Credentials` of the bindings of the bucket. */
export const CREDENTIALS: Credentials = {
  accessKeyId: 'local',
  secretAccessKey: 'a secret for this machine',
};

/** The vars and secrets by which the class `Sandbox` signs its transfers to a bucket. */
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

/** For `dev` of the Workers that export `Sandbox`: they reach the network through {@link network}. */
export const THROUGH_NETWORK = { outboundService: { type: 'worker' as const, worker: NETWORK } };

/** The network as Workers have it, but with trust in the certificate of the endpoint. It has to be one of the Workers. */
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
