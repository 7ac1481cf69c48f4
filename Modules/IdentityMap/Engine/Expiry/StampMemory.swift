/// The stamps of evicted entities, for a limited time.
final class StampMemory<ID: Hashable> {
  let time: Duration
  private var known: [ID: (stamp: Stamp, until: Duration)] = [:]
  /// In the order of expiry.
  private var order: [(id: ID, until: Duration)] = []
  /// The number of forgotten entries at the beginning of the order.
  private var forgotten = 0

  init(time: Duration) {
    self.time = time
  }

  /// Remembers a stamp, unless a higher stamp is known.
  func remember(_ stamp: Stamp, of id: ID, now: Duration) {
    forget(until: now)
    if let (higher, _) = known[id], higher >= stamp { return }
    known[id] = (stamp, now + time)
    order.append((id, now + time))
  }

  func stamp(of id: ID, now: Duration) -> Stamp? {
    guard let (stamp, until) = known[id], until > now else { return nil }
    return stamp
  }

  /// Forgets expired stamps.
  func forget(until now: Duration) {
    while forgotten < order.count, order[forgotten].until <= now {
      let id = order[forgotten].id
      if let (_, until) = known[id], until <= now { known[id] = nil }
      forgotten += 1
    }
    guard forgotten * 2 > order.count else { return }
    order.removeFirst(forgotten)
    forgotten = 0
  }
}
