import Synchronization

/// The handwritten alternative: a dictionary behind a lock.
final class LockedDictionary: Sendable {
  private let tracks = Mutex<[Int: Track]>([:])

  func find(_ id: Int) -> Track? {
    tracks.withLock { $0[id] }
  }

  func store(_ track: Track) {
    tracks.withLock { $0[track.id] = track }
  }

  func update(_ id: Int, _ change: (inout Track) -> Void) {
    tracks.withLock { tracks in
      guard var track = tracks[id] else { return }
      change(&track)
      tracks[id] = track
    }
  }
}
