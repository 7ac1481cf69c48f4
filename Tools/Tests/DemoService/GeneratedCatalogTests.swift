import DemoService
import Testing

@Suite("Generated catalog")
struct GeneratedCatalogTests {
  @Test func `the same seed gives the same catalog and another seed another`() {
    let catalog = GeneratedCatalog(count: 200, seed: 7).catalog()
    #expect(catalog == GeneratedCatalog(count: 200, seed: 7).catalog())
    #expect(catalog != GeneratedCatalog(count: 200, seed: 8).catalog())
  }

  @Test(arguments: [0, 1, 500])
  func `the count is exact and every dependency leads to a package`(count: Int) {
    let catalog = GeneratedCatalog(count: count).catalog()
    #expect(catalog.packages.count == count)
    #expect(catalog.packages.allSatisfy { $0.depends.allSatisfy { catalog[$0] != nil } })
  }
}
