import Coherence

/// Links packages to what they need, once all packages are there.
struct LinkPackages: AsyncEntityAction {
  typealias ManagedObjectType = Package

  /// The names of the packages that each needs.
  let dependencies: [String: [String]]

  func execute(context: ActionContext) async throws -> Changes {
    let dependencies = dependencies
    return try await context.perform { try context.mergeDependencies(dependencies) }
  }
}
