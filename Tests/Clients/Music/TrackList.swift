import Coherence
import Foundation

/// The played tracks of a library on a screen, by the number of their plays.
@MainActor final class TrackList {
  private(set) var titles: [String] = []
  private let context: ManagedObjectContext

  init(_ context: ManagedObjectContext) { self.context = context }

  /// Follows the tracks until the task is cancelled, or until a screen closes.
  ///
  /// - Parameter show: Is called after each change, and returns whether the screen is still open.
  func run(_ show: ([String]) -> Bool) async throws {
    let request = FetchRequest(Track.self).filter { $0.plays > 0 }.sort(\.plays, .reverse).sort(\.title)
    for try await tracks in try context.values(of: request) {
      titles = try tracks.objects(in: context).map(\.title)
      guard show(titles) else { return }
    }
  }
}
