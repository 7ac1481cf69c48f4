import CoherenceCore
public import Dispatch

extension DispatchQueue {
  /// Runs a block on the main queue: immediately on the main queue or the main actor, asynchronously elsewhere.
  public static func executeOnMain(execute work: @escaping @Sendable () -> Void) {
    if ManagedObjectContext.isOnMain { work() } else { main.async(execute: work) }
  }
}
