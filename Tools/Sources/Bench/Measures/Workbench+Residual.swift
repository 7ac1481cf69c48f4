import Coherence
import Foundation

extension Workbench {
  /// Counts the rows that satisfy a condition that no engine evaluates: a text of the row in another one. The loop has
  /// the rows in memory; the store reads them.
  func residualMeasure() -> Measure {
    Measure(
      name: "residual", title: "Count by a condition that the store leaves to the context", items: people.count,
      item: "row",
      sides: [
        Side(name: "Swift loop over structures", role: .raw) {
          Stopwatch.sample {
            let count = self.people.count { $0.email.contains($0.lastName) }
            return (UInt64(count), count)
          }
        },
        Side(name: "Coherence", role: .ours) {
          try ObjectStore.once(ObjectStore(file: self.objectLibrary().file)) { context in
            try Stopwatch.sample {
              var request = FetchRequest(PersonObject.self)
              request.predicate = .comparison(
                .path(PropertyPath("email")), .contains, .path(PropertyPath("lastName")))
              let count = try context.count(for: request)
              return (UInt64(count), count)
            }
          }
        },
      ],
      goals: [.ratio(to: .raw, atMost: 3)])
  }

  /// The same over a to-one path: the name of a track's artist in the title of the track.
  func residualPathMeasure() -> Measure {
    let library = scratch.fresh()
    let filled = Result {
      let music = try MusicLibrary(type: .sqlite, location: library)
      try music.fill()
      try music.close()
    }
    return Measure(
      name: "residual-path", title: "Count by such a condition with a to-one path", items: MusicLibrary.trackCount,
      item: "track",
      sides: [
        Side(name: "Swift loop over structures", role: .raw) {
          try filled.get()
          let tracks = try self.tracks(of: library)
          return Stopwatch.sample {
            let count = tracks.count { $0.title.contains($0.artist.name) }
            return (UInt64(count), count)
          }
        },
        Side(name: "Coherence", role: .ours) {
          let music = try MusicLibrary(type: .sqlite, location: library)
          let sample = try music.countTitlesWithArtist()
          try music.close()
          return sample
        },
      ],
      goals: [.ratio(to: .raw, atMost: 5)])
  }

  private struct Artist { let name: String }
  private struct Track {
    let title: String
    let artist: Artist
  }

  private func tracks(of file: URL) throws -> [Track] {
    let music = try MusicLibrary(type: .sqlite, location: file)
    let context = music.makeContext()
    let tracks = try context.performAndWait {
      try context.fetch(FetchRequest(TrackObject.self)).map { track in
        Track(title: try track.text("title"), artist: Artist(name: track.artist?.name ?? ""))
      }
    }
    try music.close()
    return tracks
  }
}

extension ManagedObject {
  fileprivate func text(_ name: String) throws -> String {
    guard case .string(let text) = try value(for: name) else { throw BenchError("'\(name)' is no text.") }
    return text
  }
}

extension MusicLibrary {
  /// Counts the tracks whose title contains the name of the artist.
  fileprivate func countTitlesWithArtist() throws -> Sample {
    let context = makeContext()
    return try context.performAndWait {
      try Stopwatch.sample {
        var request = FetchRequest(TrackObject.self)
        request.predicate = .comparison(.path(PropertyPath("title")), .contains, .path(PropertyPath("artist.name")))
        let count = try context.count(for: request)
        return (UInt64(count), count)
      }
    }
  }
}
