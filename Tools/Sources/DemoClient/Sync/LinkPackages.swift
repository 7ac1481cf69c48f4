import Coherence

/// Links packages to the packages that they need, after all packages were merged.
struct LinkPackages: AsyncEntityAction {
  typealias ManagedObjectType = Package

  /// By package name, the names of the packages that the package needs.
  let dependencies: [String: [String]]

  func execute(context: ActionContext) async throws -> Changes {
    let dependencies = dependencies
    return try await context.perform { try context.mergeDependencies(dependencies) }
  }
}
