import Coherence
import Foundation
import Synchronization

/// Simulates a list on a screen: retains the packages of the view context, and observes changes by other contexts.
@MainActor
package final class LiveView {
  /// The observed changes, in packages.
  package struct Tally: Sendable, Equatable {
    package var inserted = 0
    package var refreshed = 0
    package var deleted = 0
    /// Whether a notification covered too many changes to list them.
    package var isOverrun = false
  }

  private let context: ManagedObjectContext
  private let observation: Observation
  /// Fetches and retains the packages, because a context reports changes of retained objects only.
  private var shown: [Package]

  package init(_ stack: DemoStack) throws {
    context = stack.connect.viewContext
    shown = try context.fetch(FetchRequest(Package.self))
    observation = Observation(of: context)
  }

  /// The current number of packages in the view.
  package func count() throws -> Int { try context.count(for: FetchRequest(Package.self)) }

  /// The changes observed so far, including those in the context's inbox.
  package func tally() throws -> Tally {
    try context.processPendingChanges()
    return observation.tally
  }
}

/// Counts the changes in notifications, which arrive on the main actor in the order of the changes.
private final class Observation: Sendable {
  private let counts: Counts
  // `init` sets the token, and later code only returns it to the notification center.
  private nonisolated(unsafe) let token: any NSObjectProtocol

  private final class Counts: Sendable {
    let tally = Mutex(LiveView.Tally())
  }

  var tally: LiveView.Tally { counts.tally.withLock { $0 } }

  init(of context: ManagedObjectContext) {
    let counts = Counts()
    self.counts = counts
    // The token is only returned to the notification center, which is safe to call from any thread.
    token = NotificationCenter.default.addObserver(
      forName: .managedObjectContextObjectsDidChange, object: context, queue: nil
    ) { notification in
      let key = ManagedObjectContext.NotificationKey.objects
      guard let objects = notification.userInfo?[key] as? ChangedObjects else { return }
      func packages(_ objects: Set<ManagedObject>) -> Int { objects.count { $0 is Package } }
      let (inserted, refreshed) = (packages(objects.inserted), packages(objects.refreshed))
      let (deleted, isOverrun) = (packages(objects.deleted), objects.isEverything)
      counts.tally.withLock { tally in
        tally.inserted += inserted
        tally.refreshed += refreshed
        tally.deleted += deleted
        tally.isOverrun = tally.isOverrun || isOverrun
      }
    }
  }

  deinit { NotificationCenter.default.removeObserver(token) }
}
