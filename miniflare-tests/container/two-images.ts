// The caller, with the sandboxes of a class that has two images and starts one of them by default.

import { DurableObject } from 'cloudflare:workers';

import { withSnapshots } from '../../client/src/container/index.ts';

export { Caller, default } from '../caller/caller.ts';

class Base extends DurableObject {}

export class Sandbox extends withSnapshots(Base, { start: () => ({ image: 'debian:base' }) }) {}
