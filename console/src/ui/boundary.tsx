// An error boundary: a defect of one component does not empty the page.

import { Component, type ComponentChildren } from 'preact';

import { Button } from './button.tsx';
import { Failure } from './failure.tsx';

interface BoundaryProps {
  /** A new value shows the children again after an error. */
  resetKey?: string;
  children: ComponentChildren;
}

/** Shows its children, or the error that rendering them threw. Retries on the user's request and when `resetKey` changes. */
export class Boundary extends Component<BoundaryProps, { thrown?: unknown }> {
  override state: { thrown?: unknown } = {};

  override componentDidCatch(thrown: unknown) {
    this.setState({ thrown });
  }

  override componentDidUpdate({ resetKey }: BoundaryProps) {
    if (resetKey !== this.props.resetKey && this.state.thrown !== undefined) this.#reset();
  }

  override render() {
    const { thrown } = this.state;
    if (thrown === undefined) return this.props.children;
    return (
      <Failure of={thrown}>
        <div class="buttons">
          <Button onClick={() => this.#reset()}>Try again</Button>
        </div>
      </Failure>
    );
  }

  #reset() {
    this.setState({ thrown: undefined });
  }
}
