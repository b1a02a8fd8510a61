// What the views beside a lineage have together.

import type { Beside, Place } from '../routes.ts';
import type { LineageNode, Nodes } from '../tree/nodes.ts';

/** The address of something beside the lineage that is shown. */
export type At = (beside: Beside) => Place;

/** What the details of a node are told. */
export interface DetailsProps<N extends LineageNode = LineageNode> {
  node: N;
  nodes: Nodes;
  /** The sandbox that the page is about. */
  current: string;
  at: At;
  tab: Beside['tab'];
}
