/// Receives the changes of a controller's result, inside the controller's context. All methods have empty default
/// implementations.
///
/// A class of the main actor conforms with an isolated conformance: `extension Screen: @MainActor
/// FetchedResultsControllerDelegate`.
public protocol FetchedResultsControllerDelegate<Result>: AnyObject {
  /// The class of the controller's objects.
  associatedtype Result: ManagedObject

  /// Called before the result changes. The controller still has the former result.
  func controllerWillChangeContent(_ controller: FetchedResultsController<Result>)
  /// Called after the result has changed. The controller has the present result.
  func controller(_ controller: FetchedResultsController<Result>, didChange changes: ResultChanges<Result>)
  /// Called after ``controller(_:didChange:)``.
  func controllerDidChangeContent(_ controller: FetchedResultsController<Result>)
  /// Called after a read has failed, or after a store of the result was detached. The controller keeps its last result
  /// and does not update it until ``FetchedResultsController/performFetch()`` succeeds.
  func controller(_ controller: FetchedResultsController<Result>, didFail error: any Error)
}

extension FetchedResultsControllerDelegate {
  /// Does nothing.
  public func controllerWillChangeContent(_ controller: FetchedResultsController<Result>) {}
  /// Does nothing.
  public func controller(_ controller: FetchedResultsController<Result>, didChange changes: ResultChanges<Result>) {}
  /// Does nothing.
  public func controllerDidChangeContent(_ controller: FetchedResultsController<Result>) {}
  /// Does nothing.
  public func controller(_ controller: FetchedResultsController<Result>, didFail error: any Error) {}
}
