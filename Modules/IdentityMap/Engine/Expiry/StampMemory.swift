/// The stamps of evicted entities, for a limited time.
final class StampMemory<ID: Hashable> {
  let time: Duration
  private var stamps: [ID: (stamp: Stamp, until: Duration)] = [:]
  /// The identifiers of the remembered stamps, each once, with the times of the next check for expiry, ascending. A
  /// renewed stamp expires later than its check, and is checked again.
  private var expiries: [(id: ID, until: Duration)] = []
  /// The number of expired entries at the beginning of `expiries`, which are removed in batches.
  private var expiredCount = 0

  init(time: Duration) {
    self.time = time
  }

  /// Remembers a stamp, unless an equal or higher stamp is known. An expired stamp may still await its check, and
  /// counts no more.
  func remember(_ stamp: Stamp, of id: ID, now: Duration) {
    forget(until: now)
    if let known = self.stamp(of: id, now: now), known >= stamp { return }
    if stamps.updateValue((stamp, now + time), forKey: id) == nil { expiries.append((id, now + time)) }
  }

  /// Begins the time of a remembered stamp again, because its entity existed until now.
  func renew(_ id: ID, now: Duration) {
    guard let (stamp, until) = stamps[id], until > now else { return }
    stamps[id] = (stamp, now + time)
  }

  func stamp(of id: ID, now: Duration) -> Stamp? {
    guard let (stamp, until) = stamps[id], until > now else { return nil }
    return stamp
  }

  /// Forgets expired stamps.
  func forget(until now: Duration) {
    while expiredCount < expiries.count, expiries[expiredCount].until <= now {
      let id = expiries[expiredCount].id
      expiredCount += 1
      guard let (_, until) = stamps[id] else { continue }
      if until <= now { stamps[id] = nil } else { expiries.append((id, now + time)) }
    }
    guard expiredCount * 2 > expiries.count else { return }
    expiries.removeFirst(expiredCount)
    expiredCount = 0
  }
}
