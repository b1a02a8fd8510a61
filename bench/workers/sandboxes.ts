// The published class of the sandboxes, alone in a Worker: nobody who is measured has it nearer than the others.

import { WorkerEntrypoint } from 'cloudflare:workers';

export { ContainerProxy, Sandbox } from '@cloudflare/sandbox';

export default class extends WorkerEntrypoint {}
