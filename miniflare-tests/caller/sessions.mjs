// The snapshotter's Worker, whose sandboxes log when a session begins, and when its caller disposes of it.

import Snapshotter, { Sandbox as Real } from '../../src/entry.mjs';

export { ContainerProxy, Directory, NamedWorkspace, Workspace } from '../../src/entry.mjs';

export default Snapshotter;

export class Sandbox extends Real {
  async getSession(id) {
    const session = await super.getSession(id);
    console.log('a session begins');
    return { ...session, [Symbol.dispose]: () => console.log('a session ends') };
  }
}
