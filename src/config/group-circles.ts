/** What a component takes from other groups, and the group it writes. */
export interface GroupUse {
  readonly group: string;
  readonly consumes: readonly string[];
  readonly optionalConsumes: readonly string[];
}

export interface GroupCircle {
  /** From a group back to itself: `a`, `b`, `a`. */
  readonly groups: readonly string[];
  /** The component that consumes the second of them for the first, and the field and index where it says so. */
  readonly component: string;
  readonly field: 'consumes' | 'optionalConsumes';
  readonly index: number;
}

interface Edge extends Pick<GroupCircle, 'component' | 'field' | 'index'> {
  readonly producer: string;
}

/**
 * Circles of groups that consume each other: at least one of each knot, so that none is left once all that are told are
 * gone. A group that consumes itself is left out.
 */
export function groupCircles(components: Readonly<Record<string, GroupUse>>): readonly GroupCircle[] {
  const edges = edgesOf(components);
  const circles: GroupCircle[] = [];
  const done = new Set<string>();
  /** Groups on the way to the present one, in order. */
  const trail = new Map<string, Edge>();
  const visit = (group: string): void => {
    for (const edge of edges.get(group) ?? []) {
      trail.set(group, edge);
      if (trail.has(edge.producer)) circles.push(circleAt(trail, edge.producer));
      else if (!done.has(edge.producer)) visit(edge.producer);
    }
    trail.delete(group);
    done.add(group);
  };
  for (const group of edges.keys()) if (!done.has(group)) visit(group);
  return circles;
}

function edgesOf(components: Readonly<Record<string, GroupUse>>): ReadonlyMap<string, readonly Edge[]> {
  const edges = new Map<string, Edge[]>();
  for (const [component, use] of Object.entries(components)) {
    const own = edges.get(use.group) ?? [];
    edges.set(use.group, own);
    const known = new Set([use.group, ...own.map(({ producer }) => producer)]);
    for (const field of ['consumes', 'optionalConsumes'] as const) {
      use[field].forEach((producer, index) => {
        if (!known.has(producer)) own.push({ producer, component, field, index });
        known.add(producer);
      });
    }
  }
  return edges;
}

function circleAt(trail: ReadonlyMap<string, Edge>, start: string): GroupCircle {
  const groups = [...trail.keys()];
  const { component, field, index } = trail.get(start) as Edge;
  return { groups: [...groups.slice(groups.indexOf(start)), start], component, field, index };
}
