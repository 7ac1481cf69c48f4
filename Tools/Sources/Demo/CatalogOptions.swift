import ArgumentParser
import DemoService

/// The options for the packages of the service.
struct CatalogOptions: ParsableArguments {
  @Flag(help: "Serve what apt could install as well as what is installed.")
  var all = false

  @Option(help: ArgumentHelp("Serve this many made-up packages.", valueName: "count"))
  var generated: Int?

  func validate() throws {
    if let generated, generated < 1 { throw ValidationError("--generated takes a count from 1 on.") }
    if all, generated != nil { throw ValidationError("Give --all or --generated, not both.") }
  }

  /// The packages of this machine; generated packages on a machine without dpkg.
  func catalog() throws -> Catalog {
    let system = PackageCatalog()
    if let generated { return GeneratedCatalog(count: generated).catalog() }
    guard system.isAvailable else { return GeneratedCatalog(count: 5000).catalog() }
    return try all ? system.all() : system.installed()
  }
}
