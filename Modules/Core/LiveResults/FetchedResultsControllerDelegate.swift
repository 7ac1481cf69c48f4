/// Receives the changes of a controller's result, in the controller's context. All methods have implementations that do
/// nothing.
///
/// A class of the main actor conforms with an isolated conformance: `extension Screen: @MainActor
/// FetchedResultsControllerDelegate`.
public protocol FetchedResultsControllerDelegate<Result>: AnyObject {
  associatedtype Result: ManagedObject

  /// The result is about to change; the controller has the former one.
  func controllerWillChangeContent(_ controller: FetchedResultsController<Result>)
  /// The result has changed; the controller has the present one.
  func controller(_ controller: FetchedResultsController<Result>, didChange changes: ResultChanges<Result>)
  /// Called after ``controller(_:didChange:)``.
  func controllerDidChangeContent(_ controller: FetchedResultsController<Result>)
  /// A read failed, or a store of the result was detached. The controller keeps its last result and follows no more
  /// changes, until ``FetchedResultsController/performFetch()`` succeeds.
  func controller(_ controller: FetchedResultsController<Result>, didFail error: any Error)
}

extension FetchedResultsControllerDelegate {
  public func controllerWillChangeContent(_ controller: FetchedResultsController<Result>) {}
  public func controller(_ controller: FetchedResultsController<Result>, didChange changes: ResultChanges<Result>) {}
  public func controllerDidChangeContent(_ controller: FetchedResultsController<Result>) {}
  public func controller(_ controller: FetchedResultsController<Result>, didFail error: any Error) {}
}
