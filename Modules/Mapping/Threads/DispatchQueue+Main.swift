import CoherenceCore
public import Dispatch

extension DispatchQueue {
  /// Runs a block on the main queue: at once when the caller is there already, later otherwise.
  public static func executeOnMain(execute work: @escaping @Sendable () -> Void) {
    if ManagedObjectContext.isOnMain { work() } else { main.async(execute: work) }
  }
}
