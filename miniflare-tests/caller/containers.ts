// Replaces `@cloudflare/sandbox` in the column `container`: the class is that of the client, and the rest is published.

export { ContainerProxy, getSandbox } from '@cloudflare/sandbox';
export { SnapshotSandbox as Sandbox } from '../../client/src/container/index.ts';
