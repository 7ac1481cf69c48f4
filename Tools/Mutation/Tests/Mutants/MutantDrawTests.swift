import Testing

@testable import Mutants

@Suite("The draw of mutants")
struct MutantDrawTests {
  private static let source = (1...40).map { "let a\($0) = b\($0) && c\($0) < \($0 % 2)" }.joined(separator: "\n")
  private let sites = SiteFinder.sites(in: source, path: "A.swift") + SiteFinder.sites(in: source, path: "B.swift")

  @Test(arguments: [0, 1, 7, .max] as [UInt64])
  func `the same seed draws the same mutants`(seed: UInt64) {
    let drawn = MutantDraw.mutants(12, from: sites, seed: seed)
    #expect(drawn == MutantDraw.mutants(12, from: sites, seed: seed))
    #expect(drawn.map(\.number) == Array(1...12))
  }

  @Test func `the first mutants of a larger draw are those of a smaller one`() {
    #expect(
      Array(MutantDraw.mutants(30, from: sites, seed: 3).prefix(10)) == MutantDraw.mutants(10, from: sites, seed: 3))
  }

  @Test func `different seeds draw different mutants`() {
    let draws = (1...20).map { MutantDraw.mutants(5, from: sites, seed: $0).map(\.site) }
    #expect(Set(draws).count > 15)
  }

  @Test func `the numbers behind a seed are fixed`() {
    var generator = SeededGenerator(seed: 0)
    // The published first numbers of SplitMix64 from 0: another generator would change every seed's mutants.
    #expect(generator.next() == 0xE220_A839_7B1D_CDAF)
    #expect(generator.next() == 0x6E78_9E6A_A1B9_65F4)
  }

  @Test func `a draw has one mutant for a line and none within another one`() {
    let drawn = MutantDraw.mutants(1000, from: sites, seed: 5).map(\.site)
    #expect(drawn.count == 80)
    #expect(Set(drawn.map { "\($0.path):\($0.line)" }).count == 80)
    let nested = SiteFinder.sites(in: "let a = b(\n  c == d,\n  e == f\n) && g", path: "A.swift")
    for seed in 1...20 as ClosedRange<UInt64> {
      let chosen = MutantDraw.mutants(3, from: nested, seed: seed).map(\.site)
      for (index, site) in chosen.enumerated() {
        #expect(!chosen[(index + 1)...].contains(where: site.overlaps), "\(chosen)")
      }
    }
  }
}
