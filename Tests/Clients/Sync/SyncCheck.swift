import Coherence
import Foundation

extension SyncClient {
  /// Inserts a song of the user, which the service does not know.
  func writeDraft() async throws {
    let context = connect.newBackgroundContext()
    try await context.perform {
      let draft = try Song(context: context)
      draft.id = -1
      draft.title = "Draft"
      try context.save()
    }
  }

  /// Returns the differences between the file and the songs of the service, in one line.
  func compare(with catalogue: Catalogue) async throws -> String {
    let context = connect.newBackgroundContext()
    return try await context.perform {
      let songs = try context.fetch(FetchRequest(Song.self).prefetch(\.artist).prefetch(\.genres))
      let drafts = songs.count { $0.id < 0 && $0.title == "Draft" }
      let stored = songs.filter { $0.id >= 0 }
      let records = stored.compactMap(\.record)
      let duplicates = stored.count - Set(stored.map(\.id)).count
      let expected = Set(catalogue.songs)
      let wrong = records.count { !expected.contains($0) } + stored.count - records.count
      let missing = expected.subtracting(records).count
      let artists = try context.count(for: FetchRequest(Artist.self))
      let genres = try context.count(for: FetchRequest(Genre.self))
      return "\(stored.count) songs of \(artists) artists and \(genres) genres: \(duplicates) duplicates, "
        + "\(wrong) wrong, \(missing) missing, \(drafts) draft"
    }
  }

  func count() async throws -> Int {
    let context = connect.newBackgroundContext()
    return try await context.perform { try context.count(for: FetchRequest(Song.self)) }
  }
}
