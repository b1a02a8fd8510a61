// What stands between a defect of the console and an empty page.

import { Component, type ComponentChildren } from 'preact';

import { Failure } from './failure.tsx';

/** Shows what it holds, or why that can't be shown. */
export class Boundary extends Component<{ children: ComponentChildren }, { thrown?: unknown }> {
  override state: { thrown?: unknown } = {};

  override componentDidCatch(thrown: unknown) {
    this.setState({ thrown });
  }

  override render() {
    return this.state.thrown === undefined ? this.props.children : <Failure of={this.state.thrown} />;
  }
}
