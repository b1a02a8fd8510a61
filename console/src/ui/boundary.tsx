// What stands between a defect of the console and an empty page.

import { Component, type ComponentChildren } from 'preact';

import { Button } from './button.tsx';
import { Failure } from './failure.tsx';

interface BoundaryProps {
  /** What it holds is about this: about something else it may be shown again. */
  about?: string;
  children: ComponentChildren;
}

/** Shows what it holds, or why that can't be shown; and it again, when somebody asks for that or goes elsewhere. */
export class Boundary extends Component<BoundaryProps, { thrown?: unknown }> {
  override state: { thrown?: unknown } = {};

  override componentDidCatch(thrown: unknown) {
    this.setState({ thrown });
  }

  override componentDidUpdate({ about }: BoundaryProps) {
    if (about !== this.props.about && this.state.thrown !== undefined) this.#forget();
  }

  override render() {
    const { thrown } = this.state;
    if (thrown === undefined) return this.props.children;
    return (
      <Failure of={thrown}>
        <div class="buttons">
          <Button onClick={() => this.#forget()}>Show it again</Button>
        </div>
      </Failure>
    );
  }

  #forget() {
    this.setState({ thrown: undefined });
  }
}
