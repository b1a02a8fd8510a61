// Types that the views of details share.

import type { Workspace } from '../../../client/src/index.ts';
import type { DetailsParams, Place } from '../routes.ts';
import type { LineageNode, Nodes } from '../tree/nodes.ts';

/** Returns the page that shows these details next to the present lineage. */
export type PlaceFor = (details: DetailsParams) => Place;

/** The properties of a node's details. */
export interface DetailsProps<N extends LineageNode = LineageNode> {
  node: N;
  nodes: Nodes;
  /** The sandbox that the page is about. */
  current: string;
  placeFor: PlaceFor;
  /** The named workspace that the page is about, if it is about one. */
  workspace?: Workspace | undefined;
  tab: DetailsParams['tab'];
}
