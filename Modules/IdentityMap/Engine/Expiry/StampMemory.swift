/// The stamps of evicted entities, for a limited time.
final class StampMemory<ID: Hashable> {
  let time: Duration
  private var stamps: [ID: (stamp: Stamp, until: Duration)] = [:]
  /// The expiry times of remembered stamps, ascending. An identifier occurs once for each stamp that it had.
  private var expiries: [(id: ID, until: Duration)] = []
  /// The number of expired entries at the beginning of `expiries`, which are removed in batches.
  private var expiredCount = 0

  init(time: Duration) {
    self.time = time
  }

  /// Remembers a stamp, unless an equal or higher stamp is known.
  func remember(_ stamp: Stamp, of id: ID, now: Duration) {
    forget(until: now)
    if let (higher, _) = stamps[id], higher >= stamp { return }
    stamps[id] = (stamp, now + time)
    expiries.append((id, now + time))
  }

  func stamp(of id: ID, now: Duration) -> Stamp? {
    guard let (stamp, until) = stamps[id], until > now else { return nil }
    return stamp
  }

  /// Forgets expired stamps.
  func forget(until now: Duration) {
    while expiredCount < expiries.count, expiries[expiredCount].until <= now {
      let id = expiries[expiredCount].id
      if let (_, until) = stamps[id], until <= now { stamps[id] = nil }
      expiredCount += 1
    }
    guard expiredCount * 2 > expiries.count else { return }
    expiries.removeFirst(expiredCount)
    expiredCount = 0
  }
}
