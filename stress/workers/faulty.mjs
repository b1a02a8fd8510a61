// The snapshotter's Worker with an adjustable clock, and with faults in its calls to R2, to sandboxes and between its own objects.
// It logs the names of its Workspace objects, and passes the fault plan to the Worker with the sandboxes.

import Clocked, {
  NamedWorkspace as RealNamed,
  Workspace as Real,
} from '../../miniflare-tests/caller/clock.mjs';
import { arm, bucket, namespace } from './fault-injection.mjs';

export { ContainerProxy, Directory, Sandbox } from '../../miniflare-tests/caller/clock.mjs';

const faulty = (env) => ({
  ...env,
  BACKUP_BUCKET: bucket(env.BACKUP_BUCKET, 'snapshotter'),
  Sandbox: namespace(env.Sandbox, 'sandbox'),
  Workspace: namespace(env.Workspace, 'workspace'),
  NamedWorkspace: namespace(env.NamedWorkspace, 'named workspace'),
  Directory: namespace(env.Directory, 'directory'),
});

export class Workspace extends Real {
  constructor(ctx, env) {
    if (ctx.id.name !== undefined) console.log(JSON.stringify({ workspace: ctx.id.name }));
    super(ctx, faulty(env));
  }
}

export class NamedWorkspace extends RealNamed {
  constructor(ctx, env) {
    super(ctx, faulty(env));
  }
}

export default class extends Clocked {
  #sandboxes;

  constructor(ctx, env) {
    super(ctx, faulty(env));
    this.#sandboxes = env.Sandbox;
  }

  async arm(plan) {
    await this.#sandboxes.getByName('fault-plan').arm({ ...plan, seed: plan.seed + 1 });
    arm(plan);
  }
}
