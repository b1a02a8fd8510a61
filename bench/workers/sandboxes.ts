// The class of the sandboxes in its own Worker, so that all measured implementations call it over the same distance.

import { WorkerEntrypoint } from 'cloudflare:workers';

export { ContainerProxy, Sandbox } from '@cloudflare/sandbox';
export { RawContainer } from './raw.ts';

export default class extends WorkerEntrypoint {}
